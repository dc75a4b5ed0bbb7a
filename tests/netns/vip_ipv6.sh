#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The same promises for an IPv6 address: a polite move within 100 ms, a loss of power within 4 s, and
# the address is never one that the node speaks from by itself.
VIP=fd86::100
. "$(dirname "$0")/lib.sh"

cluster_with_owner
wait_until 2 client_reaches "$OWNER"
ip -n "$OWNER" -6 -oneline address show to "$VIP" | has_line '/128 .*deprecated' ||
	fail "not a deprecated /128: $(ip -n "$OWNER" -6 -oneline address show to "$VIP")"
for_seconds 1 settled_on "$OWNER"

say "$OWNER is told to move it away"
former=$OWNER
fairlead "$former" vip move "$VIP"
wait_until 3 settled_on_other_than "$former"
OWNER=$(holders)
wait_until 2 client_reaches "$OWNER"
wire_check --from "$former is told to move it away" --max-overlap-ms 0 --max-gap-ms 100 --expect-moves 1
for_seconds 1 settled_on "$OWNER"
etcd_move_leader "$(node_other_than "$OWNER")"

say "$OWNER loses power"
power_off "$OWNER"
wait_until 8 settled_on_other_than "$OWNER"
wait_until 2 client_reaches "$(holders)"
wire_check --from "$OWNER loses power" --max-overlap-ms 0 --max-gap-ms 4000 --expect-moves 1
