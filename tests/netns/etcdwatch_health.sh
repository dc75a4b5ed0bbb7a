#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The watchdog of n1: each thing that goes wrong with etcd is found, named and cleared again. A member is
# killed, stopped, cut off from its peers; one is added and never started; leaders change; a database is
# filled until etcd takes no more; all stand still while n1 records; and the quorum is lost. The times of
# the rules are cut short, but for what they are about nothing is made up, save that the clocks of
# etcdwatch, all of them, are moved ahead (libfaketime) where it would take a minute or a quarter of an hour.
. "$(dirname "$0")/lib-etcdwatch.sh"
use findings

EW_SCHEDULE="0 0 1 1 *"
EW_MORE="---
apiVersion: fairlead/v1
kind: EtcdWatchConfig
interval: 1s
members: [n1, n2, n3]
record: {directory: $T/record-n1, reserve: 1MiB}
rules:"
for rule in no-leader quorum-lost reads-fail member-down member-cut-off leaders-differ leader-changes \
	member-not-started learner-stays no-space quota-low record-behind record-far-behind; do
	EW_MORE+="
  - {id: $rule, after: 0s, hold: 0s}"
done
# What the machine that runs this is like is not the point.
EW_MORE+="
  - {id: disk-low, off: true}
  - {id: disk-very-low, off: true}
  - {id: record-gap, off: true}"
clock_own
ETCD_OPTIONS=(--quota-backend-bytes "$((16 << 20))")

# The exit code of a command, and a line that it prints. Each is tried again: on a machine that is slow a
# round may find for a moment what is not there.
ends_with() { # CODE LINE COMMAND...
	local code=0 want=$1 line=$2
	shift 2
	fairlead n1 "$@" >"$T/said" || code=$?
	[[ $code -eq $want ]] && grep -q "$line" "$T/said"
}

cluster_of_etcd
install -d -o nobody -m 700 "$T/record-n1"
etcdwatch_start n1
wait_until 30 ends_with 0 "^etcd: ok, 0 critical, 0 warning, 3 of 3 members answer$" etcd health
etcd_move_leader n1

begins "n3's member is killed"
kill_hard etcd-n3
found member-down n3
wait_until 20 ends_with 5 "^etcd: warning, .* 2 of 3 members answer$" etcd health
wait_until 20 ends_with 1 "^waiting for: all members of etcd answer: 2 of 3 members answer$" \
	health --wait-timeout 0s
etcd_start n3
wait_until 60 ends_with 0 "^all members of etcd answer: OK$" health --wait-timeout 30s
cleared member-down n3

begins "it stands still"
signal STOP etcd-n3
found member-down n3
signal CONT etcd-n3
cleared member-down n3

begins "it reaches no peer, and no peer it"
inside n3 nft -f - <<-NFT
	table inet cut {
		chain in { type filter hook input priority 0; tcp dport 2380 drop; tcp sport 2380 drop; }
	}
NFT
found member-cut-off n3
found leaders-differ n3
inside n3 nft delete table inet cut
cleared member-cut-off n3
cleared leaders-differ n3

begins "a member is added and not started; the leader moves"
# Each of these may have to wait until the members are sure of each other.
added() {
	ETCD_AT=n1 etcd_ctl member add n4 --learner --peer-urls "https://$(mgmt_ip n1):2399" >"$T/added"
}
removed() { # ID
	ETCD_AT=n1 etcd_ctl member remove "$1" >/dev/null
}
wait_until 30 added
began=$(date +%s%3N)
id=$(sed -n 's/^Member *\([0-9a-f]*\) added.*/\1/p' "$T/added")
found member-not-started "$id"
found learner-stays "$id"
# Several between two looks are told as one.
leader_moved_often() {
	etcd_move_leader n2
	etcd_move_leader n1
	finds leader-changes ""
}
wait_until 40 leader_moved_often
found leader-changes ""
wait_until 30 removed "$id"
cleared member-not-started "$id"
cleared learner-stays "$id"

begins "the databases are filled"
head -c 300000 /dev/urandom | base64 -w 0 >"$T/value"
for ((i = 0; i < 200; i++)); do
	ETCD_AT=n1 etcd_ctl put fill <"$T/value" >/dev/null || ! etcd_ctl alarm list | has_line NOSPACE || break
done
found no-space any
found quota-low any
wait_until 20 ends_with 1 "^etcd: critical, " etcd health
compacted() {
	local revision
	revision=$(ETCD_AT=n1 etcd_ctl endpoint status --write-out json | jq '.[0].Status.header.revision')
	ETCD_AT=n1 etcd_ctl compact "$revision" >/dev/null
}
defragmented() { # NODE
	ETCD_AT=$1 etcd_ctl defrag >/dev/null
}
disarmed() {
	etcd_ctl alarm disarm >/dev/null
}
wait_until 20 compacted
for node in "${NODES[@]}"; do wait_until 30 defragmented "$node"; done
wait_until 20 disarmed
cleared no-space any
cleared quota-low any

begins "two of three are killed"
for node in n2 n3; do kill_hard "etcd-$node"; done
found quorum-lost ""
found no-leader ""
found reads-fail ""
for node in n2 n3; do etcd_start "$node"; done
for rule in quorum-lost no-leader reads-fail; do cleared "$rule" ""; done
cleared member-down n2

say "a quarter of an hour later"
wait_until 20 finds leader-changes ""
clock_set 901
cleared leader-changes ""

records() {
	[[ $(fairlead n1 -o json etcd record status | jq -r .state) == recording ]] && finds_not record-behind any
}
wait_until 30 records
begins "all members stand still, for a minute"
for node in "${NODES[@]}"; do signal STOP "etcd-$node"; done
clock_set 970
found record-behind any
finds_not record-far-behind any || fail "a minute is not four"
say "and four"
clock_set 1200
found record-far-behind any
for node in "${NODES[@]}"; do signal CONT "etcd-$node"; done
cleared record-far-behind any
cleared record-behind any
