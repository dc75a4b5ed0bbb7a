#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One bit of one member's database changes on its disk, in the value of a key. The member serves it and
# signs it with a right digest, and every page is sound: only the other members know better. What is
# taken from it is put aside with the reason, never listed, and said aloud; what was there stays.
. "$(dirname "$0")/lib-etcdwatch.sh"

EW_SCHEDULE="0 0 1 1 *"
EW_MORE="---
apiVersion: fairlead/v1
kind: EtcdWatchConfig
interval: 1s"

frozen() { # NODE
	fairlead "$1" -o json etcd snapshot prune --dry-run | jq -r 'select(.frozen) | .frozen'
}

n2_deletes() {
	[[ -z $(frozen n2) ]]
}

n2_has_compared() {
	fairlead n2 metrics etcdwatch | has_line '^fairlead_etcdwatch_comparisons_total{result="differ"} [1-9].*'
}

# n1 takes one and finds it wrong. A try whose stream broke off, as where a handshake takes too long, has
# shown nothing.
is_put_aside() {
	! fairlead n1 etcd snapshot save >"$T/said" 2>&1 || fail "it was taken for good"
	grep -q HashKV "$T/said"
}

cluster_of_etcd
fill_etcd 20
etcd_ctl put precious "a-value-that-is-nowhere-else" >/dev/null

say "n1 takes a good one"
etcdwatch_start n1
wait_until 30 has_entries 1 n1
wait_until 10 job_is n1 .state idle
good=$(entries n1 | jq -r .id)
entries_are_sound n1

say "a bit flips on the disk of n1's member"
signal TERM etcd-n1
wait_exit 10 etcd-n1
db=$T/etcd-n1/member/snap/db
expect "the value should be in the database" grep -q a-value-that-is-nowhere-else "$db"
sed -i 's/a-value-that-is-nowhere-else/a-value-that-is-nowhere-elsd/g' "$db"
etcd_start n1
wait_until 30 etcd_is_healthy
# So that it is connected to its own member anew, and does not take another's.
signal TERM etcdwatch-n1
wait_exit 10 etcdwatch-n1
etcdwatch_start n1
wait_until 10 job_is n1 .period_done true

say "what n1 takes now is put aside"
wait_until 20 is_put_aside
expect_equal "snapshots of n1" "$(entries n1 | jq -r .id)" "$good"
expect_equal "files put aside" "$(job n1 .set_aside)" 1
expect_equal "the reason in its entry" \
	"$(jq -r '.rejected | test("HashKV")' "$(etcdwatch_directory n1)"/rejected/*.json)" true
expect "the log should say it as an error" log_says etcdwatch-n1 '^<3>event=snapshot_rejected '
fairlead n1 metrics etcdwatch | has_line '^fairlead_etcdwatch_rejected_total{job="minutely"} 1' ||
	fail "no metric"
fairlead n1 -o json etcd snapshot list | jq -s 'map(select(.id)) | length' | has_line -x 1 || fail "it is listed"

say "no more than three of them are kept, and never a good one goes"
for _ in 1 2 3 4; do
	nap 1.1 # their names have seconds
	wait_until 20 is_put_aside
done
expect_equal "files put aside" "$(find "$(etcdwatch_directory n1)/rejected" -name '*.db' | wc -l)" 3
expect_equal "their entries" "$(find "$(etcdwatch_directory n1)/rejected" -name '*.json' | wc -l)" 3
expect_equal "snapshots of n1" "$(entries n1 | jq -r .id)" "$good"
[[ $(frozen n1) == *'different data'* ]] || fail "n1 would delete: $(frozen n1)"

say "n2 takes a good one, of which n1's member says that it is not: nothing goes, and all are compared"
etcd_move_leader n3 # it is asked last
etcdwatch_start n2
wait_until 30 job_is n2 .period_done true
wait_until 30 job_is n2 .state idle
wait_until 20 n2_deletes
expect "n2 should take one" fairlead n2 etcd snapshot save
[[ $(frozen n2) == *'different data'* ]] || fail "n2 would delete: $(frozen n2)"
wait_until 90 n2_has_compared
