#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An etcd for a slow network, with an election timeout of 5 s: it grants no lease below 8 s, and an
# election takes longer than the usual window. vipd fits its window to that; where somebody has
# configured a shorter one, it obeys and warns.
POLICY='leaseTTL: 5s'
. "$(dirname "$0")/lib.sh"

ETCD_OPTIONS=(--heartbeat-interval 500 --election-timeout 5000)
NODE_POLICY[n3]='fenceWindow: 3s'

window_at_least() { # NODE MS
	[[ $(status "$1" .fence_window_ms) -ge $2 ]]
}

warned() { # NODE
	[[ $(status "$1" '.warnings | length') -ge 1 ]]
}

cluster_watched
say "vipd starts on n1 and n2"
vipd_start n1 n2
wait_until 30 settled
OWNER=$(holders)
wait_until 5 window_at_least "$OWNER" 12500
BOUND_MS=$(status "$OWNER" .bound_ms)

say "n3 is configured for a window of 3 s, and a lease of 5 s is asked for everywhere"
vipd_start n3
wait_until 15 settled_on "$OWNER"
wait_until 5 warned n3

say "etcd's leader moves"
etcd_move_leader "$(node_other_than "$OWNER")"
for_seconds 2 settled_on "$OWNER"
wire_check --from "$STEP" --expect-moves 0 --max-gap-ms 100

say "$OWNER loses power; the bound is $BOUND_MS ms"
power_off "$OWNER"
wait_until $((BOUND_MS / 1000 + 5)) settled_on_other_than "$OWNER"
wire_check --from "$STEP" --max-overlap-ms 0 --expect-moves 1
