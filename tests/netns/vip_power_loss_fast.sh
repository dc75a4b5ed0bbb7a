#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The fast profile: a window of 1.5 s. Another node answers within 2 s of the owner's loss of power.
POLICY='fenceWindow: 1500ms'
. "$(dirname "$0")/lib.sh"

cluster_with_owner
etcd_move_leader "$(node_other_than "$OWNER")"
for_seconds 1 settled_on "$OWNER"
say "$OWNER loses power"
power_off "$OWNER"
wait_until 10 settled_on_other_than "$OWNER"
wait_until 2 client_reaches "$(holders)"
wire_check --from "$OWNER loses power" --max-overlap-ms 0 --expect-moves 1 --max-gap-ms 2000
