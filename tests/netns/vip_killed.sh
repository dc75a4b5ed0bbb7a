#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The owner's vipd is killed and nobody tidies up after it. The kernel silences the address when the
# window ends and takes it away soon after; only then does another node answer.
. "$(dirname "$0")/lib.sh"

cluster_with_owner
former=$OWNER
say "kill -9 of vipd on $former"
killed=$STEP
kill_hard "vipd-$former"
mark_all "it is dead" # until then it may have confirmed
wait_until 5 settled_on_other_than "$former"
OWNER=$(holders)
wait_until 2 client_reaches "$OWNER"
wire_check --from "$killed" --max-overlap-ms 0 --expect-moves 1 --max-gap-ms 4000

last=$(wire_figure old_last_ms --from "it is dead")
[[ ${last%.*} -le $BOUND_MS ]] || fail "$former spoke for $last ms after its death, bound $BOUND_MS ms"

say "vipd starts again on $former, which its other self may still be on record for"
vipd_start "$former"
wait_until 10 settled_on "$OWNER"
for_seconds 2 settled_on "$OWNER"
