#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# etcd's own elections are no reason to move: its leader is moved ten times in 30 s, then killed
# FAIRLEAD_KILLS times (default 3) while the owner is elsewhere. The owner stays, and the observer
# hears no break, but for what docs/limits.md states: behind a first vote that elected nobody, by the
# members' logs, and FAIRLEAD_EXCEPTIONS times at most (default: whenever there was such a vote).
. "$(dirname "$0")/lib.sh"
use votes

KILLS=${FAIRLEAD_KILLS:-3}
BREAK_MS=100

node_after() { # NODE
	local -A next=([n1]=n2 [n2]=n3 [n3]=n1)
	echo "${next[$1]}"
}

# Of all members, since each had so many.
declare -A LINES=()
count_lines() {
	local node
	for node in "${NODES[@]}"; do
		LINES[$node]=$(wc -l <"$LOG_DIR/etcd-$node.log")
	done
}
lines_since() {
	local node
	for node in "${NODES[@]}"; do
		tail -n "+$((LINES[$node] + 1))" "$LOG_DIR/etcd-$node.log"
	done
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

declare -A JUDGED=([kept]=0 [stated]=0 [broken]=0)
for ((kill = 1; kill <= KILLS; kill++)); do
	[[ $(etcd_leader) != "$OWNER" ]] || etcd_move_leader "$(node_other_than "$OWNER")"
	leader=$(etcd_leader)
	for_seconds 1 settled_on "$OWNER"
	say "kill $kill: etcd's leader on $leader, while $OWNER owns the address"
	killing=$STEP
	count_lines
	kill_hard "etcd-$leader"
	wait_until 15 etcd_leader_is_not "$leader"
	for_seconds 2 true
	etcd_start "$leader"
	wait_until 20 etcd_is_healthy
	wait_until 20 settled
	read -r moves gap_ms < <(wire_figure '| "\(.moves) \(.gap_ms)"' --from "$killing")
	allowed_ms=$(lateness_allow "$BREAK_MS" "$killing")
	lines_since >"$T/votes"
	judged=$(judge_election "$OWNER" "$(holders)" "$moves" "$gap_ms" "$allowed_ms" "$T/votes")
	echo "         $moves moves, longest break $gap_ms ms: $judged"
	[[ $judged == kept ]] || grep -E 'became (candidate|leader)|elected leader' "$T/votes" || true
	JUDGED[$judged]=$((JUDGED[$judged] + 1))
	OWNER=$(holders)
done
say "of $KILLS kills ${JUDGED[stated]} broke behind a first vote that elected nobody, ${JUDGED[broken]} otherwise"
[[ ${JUDGED[broken]} -eq 0 ]] || fail "${JUDGED[broken]} of $KILLS elections were noticed"
[[ ${JUDGED[stated]} -le ${FAIRLEAD_EXCEPTIONS:-$KILLS} ]] || fail "${JUDGED[stated]} of $KILLS first votes were noticed"
