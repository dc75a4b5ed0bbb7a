#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The keys of dead nodes stand until their leases end. An owner whose API server fails keeps the
# address while every candidate is dead, and hands it to the one that lives. What no node takes, the
# former owner takes back within 2 s.
HEALTH_TIMES='interval: 300ms
  timeout: 300ms
  rise: 2
  fall: 2'
POLICY='holdDown: 1s'
. "$(dirname "$0")/lib.sh"
# Two of five members may lose their power.
NODES=(n1 n2 n3 n4 n5)

is_candidate() { # NODE HEALTH: as the owner knows it
	status_is "$OWNER" ".candidates[] | select(.node == \"$1\") | .health" "$2"
}

cluster_up
observe
etcd_move_leader n5
vipd_start n1 n2 n3
wait_until 15 settled
OWNER=$(holders)
others=()
for node in n1 n2 n3; do
	[[ $node == "$OWNER" ]] || others+=("$node")
done

say "$OWNER owns $VIP; vipd of ${others[*]} hangs, and $VIP is moved to ${others[0]}"
hung=$STEP
for node in "${others[@]}"; do
	vipd_pause "$node"
done
! fairlead "$OWNER" vip move "$VIP" to "${others[0]}" || fail "the move is said to have succeeded"
for node in "${others[@]}"; do
	vipd_resume "$node"
done
wait_until 5 settled_on "$OWNER"
wire_check --from "$hung" --max-overlap-ms 0 --max-gap-ms 2000 --expect-moves 0

say "${others[0]} loses its power, and the API server of $OWNER refuses"
sick=$STEP
power_off "${others[0]}"
api_stop "$OWNER"
wait_until 5 settled_on "${others[1]}"
wire_check --from "$sick" --max-overlap-ms 0 --max-gap-ms 100 --expect-moves 1

former=$OWNER
OWNER=${others[1]}
api_start "$former"
wait_until 5 status_is "$former" .health good
wait_until 2 is_candidate "$former" good
say "$former loses its power, and the API server of $OWNER refuses"
sick=$STEP
power_off "$former"
api_stop "$OWNER"
wait_until 5 status_is "$OWNER" .health bad
expect "the key of $former stands" is_candidate "$former" good
for_seconds 4 settled_on "$OWNER"
wire_check --from "$sick" --max-overlap-ms 0 --max-gap-ms 100 --expect-moves 0

say "n4 joins"
joined=$STEP
vipd_start n4
wait_until 15 settled_on n4
wire_check --from "$joined" --max-overlap-ms 0 --max-gap-ms 100 --expect-moves 1
