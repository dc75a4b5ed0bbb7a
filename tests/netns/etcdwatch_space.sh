#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Databases full of free pages are written anew under load: followers first, the leader last and not
# while it leads, not during a snapshot, and a second time nothing is done. Then the quota is reached:
# it is said what fills it, nothing is disarmed while there is no room, and `etcd recover-space` brings
# it back; and then the same by itself, where that is configured.
. "$(dirname "$0")/lib-etcdwatch.sh"
use findings

EW_SCHEDULE="0 0 1 1 *"
ETCD_OPTIONS=(--quota-backend-bytes 16777216)
FAIRLEAD_TIMEOUT=60
EW_MORE="---
apiVersion: fairlead/v1
kind: EtcdWatchConfig
interval: 1s
rules:
  - {id: no-space, after: 0s, hold: 0s}
  - {id: quota-low, after: 0s, hold: 0s}"

cluster_of_etcd
etcd_move_leader n2
etcdwatch_start n1
head -c 400000 /dev/urandom >"$T/value"

# Keys of 0.4 MB; the first that is refused ends it.
fill() { # COUNT
	local i
	for ((i = 0; i < $1; i++)); do
		etcd_ctl put "fill/$i" <"$T/value" >/dev/null || return 1
	done
}

sizes() { # FILTER: of n1 n2 n3
	fairlead n1 -o json etcd status | jq -r "$1" | xargs
}

# At one revision that all of them have.
hashes() {
	local revision node
	revision=$(ETCD_AT=n1 etcd_ctl get nothing --write-out json | jq .header.revision)
	for node in n1 n2 n3; do
		ETCD_AT=$node etcd_ctl get nothing >/dev/null
		ETCD_AT=$node etcd_ctl endpoint hashkv --rev "$revision" --write-out json | jq '.[0].HashKV.hash'
	done
}

expect_one_hash() {
	hashes >"$T/hashes"
	expect_equal "hashes" "$(wc -l <"$T/hashes")" 3
	expect_equal "different hashes" "$(sort -u "$T/hashes" | wc -l)" 1
}

compact() {
	local revision
	revision=$(etcd_ctl get nothing --write-out json | jq .header.revision)
	etcd_ctl compact --physical "$revision" >/dev/null
}

# What a compaction frees is told after some more writes.
all_have_free() {
	etcd_ctl put keep this >/dev/null
	[[ $(sizes 'select(.db_bytes > 5000000 and .in_use_bytes < 2000000) | .node') == "n1 n2 n3" ]]
}

statuses() {
	fairlead n1 etcd status
	ETCD_AT=n1 etcd_ctl get --prefix fill/ --keys-only
}
ON_FAILURE+=(statuses)

say "5 MB written, deleted, compacted"
wait_until 20 fairlead n1 etcd status
fill 14
etcd_ctl del --prefix fill/ >/dev/null
compact
wait_until 20 all_have_free

say "not during a snapshot"
etcd_ctl put fairlead/v1/etcdwatch/minutely/claim/60 '{"node":"n3"}' >/dev/null
wait_until 30 is_refused 'a snapshot is being taken' n1 --yes etcd defrag --all
etcd_ctl del fairlead/v1/etcdwatch/minutely/claim/60 >/dev/null

# Small writes, one after the other, at all members in turn.
writes_start() {
	spawn writes-sw sw env ETCDCTL_API=3 ETCDCTL_CACERT="$PKI/etcd-trust.crt" \
		ETCDCTL_CERT="$PKI/client-admin.crt" ETCDCTL_KEY="$PKI/client-admin.key" \
		bash -c 'while :; do for at in "$@"; do '"$ETCD_BIN"'/etcdctl --endpoints "$at" put written now; done; done' \
		writes "https://$(mgmt_ip n1):2379" "https://$(mgmt_ip n2):2379" "https://$(mgmt_ip n3):2379"
}

say "written anew, while others write"
writes_start
wait_until 20 log_says writes-sw OK
wait_until 60 is_done n1 -o json etcd defrag --all
grep '^{' "$T/done" >"$T/defrag"
rm "$T/done"
signal TERM writes-sw
jq -c 'select(.step == "defragment" and .state == "done") | [.node, .bytes_before, .bytes_after, .stall_ms, .leader_stall_ms]' "$T/defrag"
jq -r 'select(.state == "done") | "\(.step) \(.node)"' "$T/defrag" >"$T/steps"
moved=$(sed -n 's/^move-leader //p' "$T/steps" | tail -n 1)
expect_equal "members" "$(grep ^defragment "$T/steps" | sort | xargs)" "defragment n1 defragment n2 defragment n3"
expect_equal "the last steps" "$(tail -n 2 "$T/steps" | xargs)" "move-leader $moved defragment $moved"
expect_equal "small ones" "$(jq -s '[.[] | select(.state == "done" and .step == "defragment" and .bytes_after < 3000000)] | length' "$T/defrag")" 3
expect_equal "measured ones" "$(jq -s '[.[] | select(.stall_ms > 0 and .leader_stall_ms > 0)] | length' "$T/defrag")" 3
expect_equal "keep" "$(etcd_ctl get keep --print-value-only)" this
expect_one_hash

fairlead n1 metrics etcdwatch >"$T/metrics"
for line in 'steps_total\{step="defragment",result="done"\} 3' 'defrag_freed_bytes_total [1-9]' \
	'defrag_last_stall_seconds\{member="n3"\} [0-9]' 'defrag_stall_seconds_total\{of="leader"\} [0-9.e-]*[1-9]'; do
	grep -Eq "^fairlead_etcdwatch_$line" "$T/metrics" || fail "no metric $line"
done

say "a second time there is nothing to do"
wait_until 30 is_done n1 -o json etcd defrag --all
! grep -q '"done"' "$T/done" || fail "something was done: $(cat "$T/done")"

full() {
	! fill 80
}

begins "the quota is reached"
wait_until 30 full
found no-space any
found quota-low any
wait_until 20 eval '[[ $(fairlead n1 etcd alarms) == *NOSPACE* ]]'

say "a snapshot tells what fills it, and the findings say so"
wait_until 30 fairlead n1 etcd snapshot save
expect_equal "the largest" "$(fairlead n1 -o json etcd snapshot usage latest | jq -rs '.[0].prefix')" fill
expect_equal "a part" "$(fairlead n1 -o json etcd snapshot usage --local latest |
	jq -s '.[0].bytes > 10000000')" true
names_fill() { # RULE
	[[ $(health ".[1:][] | select(.id == \"$1\") | .sentence") == *"newest snapshot 9"?" % is 'fill'"* ]]
}
wait_until 20 names_fill no-space
wait_until 20 names_fill quota-low
etcd_ctl del --prefix fill/ >/dev/null
wait_until 30 is_refused 'has no room yet' n1 --yes etcd alarm disarm

# As an earlier run leaves it that came no farther.
compact
say "and from there back, once it is compacted already"
wait_until 60 is_done n1 etcd recover-space
cleared no-space any
cleared quota-low any
expect_equal "alarms" "$(fairlead n1 -o json etcd alarms)" ""
etcd_ctl put room yes >/dev/null || fail "there is no room"
expect_equal "small ones" "$(sizes 'select(.db_bytes < 3000000) | .node')" "n1 n2 n3"
expect_equal "keep" "$(etcd_ctl get keep --print-value-only)" this
expect_one_hash
fairlead n1 --yes etcd recover-space >"$T/said"
grep -q 'NOSPACE does not stand' "$T/said" || fail "it said: $(cat "$T/said")"

say "the same by itself"
signal TERM etcdwatch-n1
wait_exit 20 etcdwatch-n1
EW_MORE=${EW_MORE/interval: 1s/$'interval: 1s\nrecoverSpace: true'}
etcdwatch_start n1 n2 n3
wait_until 20 fairlead n3 etcd status

# One key, so that all but the last of it is for a compaction.
overwrite() {
	local i
	for ((i = 0; i < 80; i++)); do
		etcd_ctl put fill/0 <"$T/value" >/dev/null || return 1
	done
}
overwritten() {
	! overwrite
}
wait_until 30 overwritten
recovered() { # by the one whose voter has the lowest ID
	grep -q 'event=upkeep_done what=recover-space' "$LOG_DIR"/etcdwatch-n[123].log
}
wait_until 60 recovered
etcd_ctl put room again >/dev/null || fail "there is no room"
expect_equal "alarms" "$(fairlead n1 -o json etcd alarms)" ""
expect_one_hash
