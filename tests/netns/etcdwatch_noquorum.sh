#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two of three members are dead. Whoever asks etcdwatch on the third for a snapshot gets one, as a file
# of his own, in the words of talosctl; it is kept and catalogued as one that nobody was elected for and
# nobody could confirm. Nothing is deleted meanwhile. A snapshot that is kept encrypted is handed over as
# the member has sent it, and a file that is there is replaced as a whole or not at all.
. "$(dirname "$0")/lib-etcdwatch.sh"

EW_SCHEDULE="0 0 1 1 *"
EW_MORE="retention: {last: 1}"
cluster_of_etcd
fill_etcd 20 10000
age-keygen -o "$T/one.key" 2>/dev/null
EW_PACKING="compression: {algorithm: zstd, level: 3}
encryption: {recipients: [$(age-keygen -y "$T/one.key")]}"

say "before: a snapshot of the period, and one that somebody asks for"
etcdwatch_start n1
wait_until 30 has_entries 1 n1
wait_until 10 job_is n1 .state idle
[[ $(entries n1 | jq -r .period) != null ]] || fail "the period should be in its entry"
nap 1.1
mkdir "$T/mine"
fairlead n1 etcd snapshot save "$T/mine/a.db" >"$T/said"
wait_until 10 has_entries 1 n1
status() { # FILE
	ETCDCTL_API=3 "$ETCD_BIN/etcdctl" snapshot status --write-out json "$1" 2>/dev/null
}
expect_equal "what it says" "$(cat "$T/said")" "$(
	printf 'etcd snapshot saved to "%s" (%d bytes)\n' "$T/mine/a.db" "$(stat -c %s "$T/mine/a.db")"
	status "$T/mine/a.db" | jq -r '"\(.hash) \(.revision) \(.totalKey) \(.totalSize)"' | {
		read -r hash revision keys size
		printf 'snapshot info: hash %08x, revision %d, total keys %d, total size %d\n' \
			"$hash" "$revision" "$keys" "$size"
	}
)"
expect_equal "files" "$(ls -A "$T/mine")" a.db
expect_equal "its mode" "$(stat -c '%a %U' "$T/mine/a.db")" "600 root"
entries n1 | jq -r .file | has_line '\.db\.zst\.age$' || fail "what is kept should be encrypted"

say "two members die"
etcd_ctl put the-last word >/dev/null
for node in n2 n3; do kill_hard "etcd-$node"; done
before=$(cat "$T/mine/a.db" | sha256sum)
fairlead n1 etcd snapshot save "$T/mine/a.db" >"$T/said" 2>&1 || fail "$(cat "$T/said")"
[[ $(sha256sum <"$T/mine/a.db") != "$before" ]] || fail "it is the old file"
fairlead n1 etcd snapshot verify "$T/mine/a.db" >/dev/null
wait_until 30 has_entries 2 n1
expect_equal "its revision" "$(status "$T/mine/a.db" | jq .revision)" \
	"$(entries n1 | jq -s 'max_by(.started) | .revision')"
expect_equal "what its entry says" \
	"$(entries n1 | jq -sr 'max_by(.started) | "\(.period) \(.verified.hashkv) \(.verified.tree)"')" \
	"null null true"

say "nothing goes while etcd cannot be asked for alarms, and status says so"
wait_until 30 job_is n1 .state idle
expect_equal "snapshots" "$(n_entries n1)" 2
told_frozen() {
	fairlead n1 etcd snapshot jobs | has_line "nothing is deleted"
}
wait_until 30 told_frozen

say "a file that cannot be written is no file"
for_save() { # FILE...: when the job rests
	wait_until 30 job_is n1 .state idle
	fairlead n1 etcd snapshot save "$@" >"$T/said" 2>&1
}
for_save "$T/nowhere/a.db" && fail "it went well"
grep -q "nowhere/a.db" "$T/said" || fail "$(cat "$T/said")"
before=$(sha256sum <"$T/mine/a.db")
mount -t tmpfs -o size=64k tmpfs "$T/mine"
for_save "$T/mine/a.db" && fail "it went well"
expect_equal "files" "$(ls -A "$T/mine")" ""
umount "$T/mine"
expect_equal "the file" "$(sha256sum <"$T/mine/a.db")" "$before"
for_save "$T/mine/b.db" minutely && fail "it went well"
all_listed() {
	fairlead n1 etcd snapshot list --local | grep -c minutely | has_line -x 4
}
wait_until 30 all_listed
