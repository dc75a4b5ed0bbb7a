#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# etcd's leader, on the owner's own node, is stopped for longer than the leases last and then goes on
# in the middle of the work of the others. Until it notices, it believes that it leads: it must
# neither keep an owner alive nor, by ending leases that live, make two.
POLICY='leaseTTL: 5s'
. "$(dirname "$0")/lib.sh"

candidates_are() { # NODE NUMBER
	[[ $(status "$1" '.candidates | length') -eq $2 ]]
}

cluster_with_owner
for round in 1 2; do
	etcd_move_leader "$(holders)"
	OWNER=$(holders)
	etcd_move_leader "$OWNER"
	say "round $round: etcd of $OWNER, its leader, stops for 8 s"
	stopped=$STEP
	signal STOP "etcd-$OWNER"
	wait_until 10 etcd_works_without "$OWNER"
	load_start "$OWNER"
	for_seconds 6 at_most_one_answers
	say "round $round: it goes on, under load"
	signal CONT "etcd-$OWNER"
	for_seconds 5 at_most_one_answers
	kill_hard load-sw
	wait_until 20 etcd_is_healthy
	wait_until 15 settled
	for node in "${NODES[@]}"; do
		wait_until 15 candidates_are "$node" 3
	done
	wire_check --from "$stopped" --max-overlap-ms 0
done
