#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# etcd's own elections are no reason to move: its leader is moved ten times in 30 s, then killed
# FAIRLEAD_KILLS times (default 3) while the owner is elsewhere. The owner stays, and the observer
# hears no break.
. "$(dirname "$0")/lib.sh"

KILLS=${FAIRLEAD_KILLS:-3}
BREAK_MS=100

node_after() { # NODE
	local -A next=([n1]=n2 [n2]=n3 [n3]=n1)
	echo "${next[$1]}"
}

cluster_with_owner
say "etcd's leader moves ten times"
moving=$STEP
for _ in 1 2 3 4 5 6 7 8 9 10; do
	etcd_move_leader "$(node_after "$(etcd_leader)")"
	for_seconds 1 held_by "$OWNER"
done
for_seconds 2 held_by "$OWNER"
settled_on "$OWNER" || fail "not settled"
wire_check --from "$moving" --max-owners 1 --max-gap-ms "$BREAK_MS" --expect-moves 0

broken=0
for ((kill = 1; kill <= KILLS; kill++)); do
	[[ $(etcd_leader) != "$OWNER" ]] || etcd_move_leader "$(node_other_than "$OWNER")"
	leader=$(etcd_leader)
	for_seconds 1 settled_on "$OWNER"
	say "kill $kill: etcd's leader on $leader, while $OWNER owns the address"
	killing=$STEP
	kill_hard "etcd-$leader"
	wait_until 15 etcd_leader_is_not "$leader"
	for_seconds 2 true
	etcd_start "$leader"
	wait_until 20 etcd_is_healthy
	wait_until 20 settled
	figures=$(wire_figure '| "\(.moves) moves, longest break \(.gap_ms) ms"' --from "$killing")
	echo "         $figures"
	allowed_ms=$(lateness_allow "$BREAK_MS" "$killing")
	if [[ $(holders) != "$OWNER" || $(wire_figure "| .gap_ms > $allowed_ms or .moves > 0" \
		--from "$killing") == true ]]; then
		broken=$((broken + 1))
	fi
	OWNER=$(holders)
done
say "$broken exceptions in $KILLS kills"
[[ $broken -le ${FAIRLEAD_EXCEPTIONS:-0} ]] || fail "$broken of $KILLS elections were noticed"
