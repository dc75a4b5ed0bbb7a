#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The owner loses its power: every process dies at once and both cables go dark. Another node answers
# within 4 s. Then the same with the node that also leads etcd.
. "$(dirname "$0")/lib.sh"

power_loss() { # LIMIT_MS
	local lost=$OWNER
	say "$lost loses power"
	local off=$STEP
	power_off "$lost"
	wait_until 15 settled_on_other_than "$lost"
	OWNER=$(holders)
	wait_until 2 client_reaches "$OWNER"
	wire_check --from "$off" --max-overlap-ms 0 --expect-moves 1 --max-gap-ms "$1"

	say "power is back on $lost"
	power_on "$lost"
	etcd_start "$lost"
	api_start "$lost"
	wait_until 20 etcd_is_healthy
	vipd_start "$lost"
	wait_until 10 settled
	for_seconds 1 settled_on "$OWNER"
}

cluster_with_owner
etcd_move_leader "$(node_other_than "$OWNER")"
power_loss 4000

say "$OWNER becomes the leader of etcd"
etcd_move_leader "$OWNER"
OWNER=$(holders)
etcd_move_leader "$OWNER"
power_loss 8000
