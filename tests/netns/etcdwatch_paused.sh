#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The member that a snapshot is being taken from hangs: the stream is given up after its time without
# progress, and the next attempt goes to a member that answers. Then it is killed in the middle of one:
# who has asked for that one hears why there is none, and who asks again gets one. Nothing half is left.
. "$(dirname "$0")/lib-etcdwatch.sh"

EW_SCHEDULE="0 0 1 1 *"

cluster_of_etcd
fill_etcd 80 100000
etcd_move_leader n3
slow_member n1

say "n1 takes one from its own member, slowly"
etcdwatch_start n1
wait_until 30 job_is n1 .state taking
expect "it should be its own member" log_says etcdwatch-n1 'event=snapshot_begins .* member=n1 '

say "the member hangs"
signal STOP etcd-n1
wait_until 30 log_says etcdwatch-n1 'event=snapshot_failed .*no bytes within'

say "and another one is asked"
wait_until 45 has_entries 1 n1
no_half_files() {
	expect_equal "half files" "$(find "$(etcdwatch_directory n1)" -name '.taking-*' | wc -l)" 0
}
no_half_files
[[ $(entries n1 | jq -r .member.name) != n1 ]] || fail "it is from the one that hangs"
wait_until 10 job_is n1 .state idle
entries_are_sound n1

say "it is killed in the middle of another"
signal CONT etcd-n1
wait_until 30 etcd_is_healthy
etcd_move_leader n3
# So that it is connected to its own member anew, and does not take another's.
signal TERM etcdwatch-n1
wait_exit 20 etcdwatch-n1
etcdwatch_start n1
wait_until 30 job_is n1 .period_done true
wait_until 20 job_is n1 .state idle
fairlead n1 etcd snapshot save >"$T/said" 2>&1 &
asked=$!
wait_until 20 has_some_bytes n1
expect "it should be n1's own member again" \
	eval 'grep "event=snapshot_begins" "$LOG_DIR/etcdwatch-n1.log" | tail -n 1 | has_line member=n1'
kill_hard etcd-n1
! wait "$asked" || fail "it was taken"
grep -q "broke off" "$T/said" || fail "it did not say why: $(cat "$T/said")"
no_half_files
expect_equal "snapshots of n1" "$(n_entries n1)" 1
wait_until 20 job_is n1 .state idle
fairlead n1 etcd snapshot save >/dev/null
expect_equal "snapshots of n1" "$(n_entries n1)" 2
! entries n1 | jq -r .member.name | has_line -x n1 || fail "one is from the member that was killed"
