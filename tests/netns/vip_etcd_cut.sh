#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The owner loses etcd but not the LAN: clients still reach it, so it is its duty to fall silent before
# the others, who see no word from it, may take over. First cut off altogether, then in one direction
# only: it hears but cannot speak, it speaks but cannot hear.
. "$(dirname "$0")/lib.sh"

cluster_with_owner
for direction in both out in; do
	former=$(holders)
	say "etcd's cable of $former is cut: $direction"
	cut=$STEP
	mgmt_drop "$former" "$direction"
	# A confirmation may still have passed while the cable was being cut.
	mark_all "is cut: $direction"
	wait_until 15 held_by_other_than "$former"
	wire_check --from "$cut" --max-overlap-ms 0 --expect-moves 1
	last=$(wire_figure old_last_ms --from "is cut: $direction")
	[[ ${last%.*} -le $BOUND_MS ]] || fail "$former spoke for $last ms, bound $BOUND_MS ms"
	OWNER=$(holders)
	status_is "$former" .etcd_ok false || fail "$former claims that etcd is fine"

	say "the cable of $former is whole again"
	mgmt_pass "$former"
	# The member that was cut off comes back with a higher term, and etcd elects anew.
	wait_until 20 etcd_is_healthy
	wait_until 15 settled_on "$OWNER"
	for_seconds 1 settled_on "$OWNER"
done
