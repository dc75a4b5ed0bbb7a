#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The owner leaves politely: told to stop, or told to move. The address changes hands within 100 ms,
# and at no time do two answer for it.
. "$(dirname "$0")/lib.sh"

handed_over() { # from the last sentence on
	wait_until 2 client_reaches "$(holders)"
	wire_check --from "$STEP" --max-overlap-ms 0 --max-gap-ms 100 --expect-moves 1 --max-owners 2
	OWNER=$(holders)
	# The judge takes one who comes back within a second for one who never left.
	for_seconds 1 settled_on "$OWNER"
}

cluster_with_owner
for_seconds 1 settled_on "$OWNER"

say "$OWNER is told to stop"
former=$OWNER
signal TERM "vipd-$former"
wait_exit 5 "vipd-$former"
expect_equal "exit code" "$EXIT_CODE" 0
wait_until 3 settled_on_other_than "$former"
handed_over
vipd_start "$former"
wait_until 10 settled
for_seconds 2 settled_on "$OWNER"

say "$OWNER is told to move it away"
former=$OWNER
fairlead "$former" vip move "$VIP"
wait_until 3 settled_on_other_than "$former"
handed_over

former=$OWNER
target=$(node_other_than "$former")
say "$former is told to move it to $target"
fairlead "$former" vip move "$VIP" to "$target"
wait_until 3 settled_on "$target"
handed_over
expect_equal "the move in the status" \
	"$(status "$target" '.last_move | "\(.from) to \(.to)"')" "$former to $target"

say "it is told to move to a node that is not there"
if fairlead "$OWNER" vip move "$VIP" to nowhere; then
	fail "a move to nowhere was accepted"
fi
for_seconds 1 settled_on "$OWNER"

say "all leave, one by one"
second=$(node_other_than "$OWNER")
for node in "$OWNER" "$second" "$(node_other_than "$OWNER" "$second")"; do
	signal TERM "vipd-$node"
	wait_exit 5 "vipd-$node"
	expect_equal "exit code of $node" "$EXIT_CODE" 0
	expect "$node has let go" holds_not "$node"
	nap 1.2
done
expect "nobody has it" held_by
