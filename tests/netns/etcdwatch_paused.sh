#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# limit: 150
# The member that a snapshot is being taken from hangs: the stream is given up after its time without
# progress, and the next attempt goes to a member that answers. Nothing of the first is left.
. "$(dirname "$0")/lib-etcdwatch.sh"

EW_SCHEDULE="0 0 1 1 *"
cluster_of_etcd
fill_etcd 80 100000
etcd_move_leader n3
inside n1 tc qdisc replace dev lo root tbf rate 8mbit burst 256kb latency 10s

say "n1 takes one from its own member, slowly"
etcdwatch_start n1
wait_until 30 job_is n1 .state taking
expect "it should be its own member" log_says etcdwatch-n1 'event=snapshot_begins .* member=n1 '

say "the member hangs"
signal STOP etcd-n1
wait_until 30 log_says etcdwatch-n1 'event=snapshot_failed .*no bytes within'

say "and another one is asked"
wait_until 45 has_entries 1 n1
signal CONT etcd-n1
[[ $(entries n1 | jq -r .member.name) != n1 ]] || fail "it is from the one that hangs"
expect_equal "half files" "$(find "$(etcdwatch_directory n1)" -name '.taking-*' | wc -l)" 0
wait_until 10 job_is n1 .state idle
entries_are_sound n1
