#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The member that a snapshot is being taken from is cut off in the middle of it: no packet comes through any
# more, and nobody says so. The stream is given up after its time without progress, and the next attempt
# goes to a member that answers. When the packets come through again, its own member serves once more.
. "$(dirname "$0")/lib-etcdwatch.sh"

EW_SCHEDULE="0 0 1 1 *"

cluster_of_etcd
fill_etcd 80 100000
etcd_move_leader n3
slow_member n1

say "n1 takes one from its own member, slowly"
etcdwatch_start n1
wait_until 30 has_some_bytes n1
expect "it should be its own member" log_says etcdwatch-n1 'event=snapshot_begins .* member=n1 '

say "no packet of its member comes through any more"
inside n1 nft -f - <<-NFT
	table inet cut {
		chain in { type filter hook input priority 0; iifname "lo" tcp dport 2379 drop; iifname "lo" tcp sport 2379 drop; }
	}
NFT
wait_until 30 log_says etcdwatch-n1 'event=snapshot_failed .*no bytes within 5000 ms, after [1-9]'

say "and another one is asked"
wait_until 45 has_entries 1 n1
[[ $(entries n1 | jq -r .member.name) != n1 ]] || fail "it is from the one that is cut off"
wait_until 10 job_is n1 .state idle
entries_are_sound n1
expect_equal "half files" "$(find "$(etcdwatch_directory n1)" -name '.taking-*' | wc -l)" 0

say "it is not cut off any more"
inside n1 nft delete table inet cut
inside n1 tc qdisc delete dev lo root
own_again() {
	fairlead n1 etcd snapshot save >/dev/null &&
		grep event=snapshot_begins "$LOG_DIR/etcdwatch-n1.log" | tail -n 1 | has_line member=n1
}
wait_until 60 own_again
wait_until 10 job_is n1 .state idle
entries_are_sound n1
