#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What tests/nemesis/run starts, in a world of its own: nodes with etcd, API servers, all daemons, a pod and a
# client each; clients of the address by every path (netns/lib/tcp.sh); the faults of the plan, round by round; and after each round what must hold again. Writes
# down what happens ($LOG_DIR/events: wall clock and words); tests/nemesis/judge makes of that what was
# kept and what was broken. From the environment:
#   NEMESIS_PLAN     what tests/nemesis/plan has printed
#   NEMESIS_NODES    3 or 5
#   NEMESIS_SECONDS  no round begins after that
#   NEMESIS_FAULTS   no fault begins when so many were done
#   FREEZER          a folder of the freezer's, or nothing
# and what tests/netns/lib/begin.sh takes.

NEMESIS_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/netns/lib/begin.sh
. "$NEMESIS_DIR/../netns/lib/begin.sh"
VIPD=${VIPD:-$BUILD/bin/vipd}
NETCONF=${NETCONF:-$BUILD/bin/netconf}
VIP=10.86.0.100
POLICY=
OVERLAP_MS=0
T=/run/story
NODES=(n1 n2 n3)
[[ $NEMESIS_NODES -eq 3 ]] || NODES+=(n4 n5)

use world topology pki etcd api wire tcp vipd prism etcdwatch
# shellcheck source=tests/nemesis/lib/node.sh
. "$NEMESIS_DIR/lib/node.sh"
# shellcheck source=tests/nemesis/lib/faults.sh
. "$NEMESIS_DIR/lib/faults.sh"

WIRE_ASKS=(--questions) # the judge counts who leaves some unanswered

# A machine that is busy, or three times slower than most; machine_slowness makes it more on one that is
# slower still, as all else that is waited for.
WELL_S=120
CLIENT_TIMEOUT_MS=20000
CLIENT_RATE=5
TCP_INTERVAL_MS=100
FAIRLEAD_TIMEOUT=15
SNAPSHOT_TIMEOUT=60

event() { # WORDS
	printf '%s %s\n' "$EPOCHREALTIME" "$*" >>"$LOG_DIR/events"
}

world_enter "$@"
trap : PIPE # should the observer end, that is to be told
ON_END=(prism_logs_are_clean etcdwatch_logs_are_clean) # the judge knows more about the wire

clock_preload

# How many times longer this machine needs than one that is three times slower than most. By the fastest
# of a few looks: a processor that is slow, and not one that others want as well.
machine_slowness() {
	local slow
	wait_until 30 pace_has_begun
	slow=$(awk 'NR == 1 || $2 < least { least = $2 } END { printf "%d", least / 3 + 0.99 }' "$LOG_DIR/pace")
	[[ $slow -gt 1 ]] || return 0
	say "a slow machine: all that is waited for may take $slow times longer"
	WELL_S=$((WELL_S * slow))
	CLIENT_TIMEOUT_MS=$((CLIENT_TIMEOUT_MS * slow))
	FAIRLEAD_TIMEOUT=$((FAIRLEAD_TIMEOUT * slow))
	SNAPSHOT_TIMEOUT=$((SNAPSHOT_TIMEOUT * slow))
	PATIENCE_S=$((PATIENCE_S * slow))
	# What is asked of it all the time, which would leave it no time for anything else; and etcd's own
	# guide has its times follow how fast members answer.
	CLIENT_RATE=$((CLIENT_RATE / slow > 0 ? CLIENT_RATE / slow : 1))
	WIRE_ASKS+=(--interval $((5 * slow)))
	TCP_INTERVAL_MS=$((TCP_INTERVAL_MS * slow))
	ETCDCTL_WAITS=(--dial-timeout "${slow}s" --command-timeout $((2 * slow))s)
	ETCD_OPTIONS=(--heartbeat-interval $((100 * slow)) --election-timeout $((1000 * slow)))
}

pace_has_begun() {
	[[ $(wc -l <"$LOG_DIR/pace") -ge 5 ]]
}

nodes_begin() {
	local node daemon
	PRISM_UPSTREAMS=
	for node in "${NODES[@]}"; do
		PRISM_UPSTREAMS+="10.86.0.${NUMBER[$node]}:6443 "
		node_disk "$node"
		node_clock "$node" 0
		foreign_make "$node"
	done
	mkdir -p "$T/www"
	printf '{"major": "1", "minor": "32"}\n' >"$T/www/version"
	etcd_binaries
	for node in "${NODES[@]}"; do
		node_start etcd "$node"
		node_start api "$node"
	done
	ETCD_OPTIONS+=(--initial-cluster-state existing)
	wait_until 60 etcd_is_healthy
	for node in "${NODES[@]}"; do
		for daemon in "${DAEMONS[@]}"; do
			node_start "$daemon" "$node"
		done
	done
	for node in "${NODES[@]}"; do
		wait_until 60 node_answers "$node"
		node_configure netconf "$node"
		net_change "$node" >>"$LOG_DIR/commands.log" 2>&1
	done
}

clients_begin() {
	local node
	for node in "${NODES[@]}"; do
		# shellcheck disable=SC2086
		PRISM_AT=$node PRISM_CLIENTS="--to 127.0.0.1:7445" \
			client_spawn "$node" open --rate "$CLIENT_RATE" --timeout "$CLIENT_TIMEOUT_MS" $ASK_VERSION
	done
}

foreign_all() { # WHEN
	local node
	for node in "${NODES[@]}"; do
		foreign_show "$node" >"$LOG_DIR/foreign-$node.$1"
	done
}

# --- the plan ----------------------------------------------------------------------------------------

# Returns at that time of the round; what ends meanwhile is seen to.
turn_until() { # MS
	local left_ms
	while :; do
		faults_turn
		left_ms=$(($1 - (${EPOCHREALTIME/./} - ROUND_US) / 1000))
		[[ $left_ms -gt 0 ]] || return 0
		[[ $left_ms -lt 50 ]] || left_ms=50
		nap "0.0$(printf %02d "$left_ms")"
	done
}

declare -gA BEGUN=()    # ID -> yes: a fault that has begun, or could not
declare -gA OWNER_AT=() # ID -> whom "owner" meant when the fault began

# A fault may have begun when that is written, and is over when that is.
act() { # begin|end ID KIND NODE ARGUMENT...
	local word=$1 id=$2 kind=$3 node=$4 done=yes
	if [[ $word == begin && $FAULTS_DONE -lt $NEMESIS_FAULTS ]]; then
		BEGUN[$id]=yes
	elif [[ -z ${BEGUN[$id]:-} ]]; then
		return
	fi
	if [[ $node == owner ]]; then
		[[ $word == end ]] || OWNER_AT[$id]=$(holders)
		node=${OWNER_AT[$id]%% *}
		node=${node:-n1}
	fi
	[[ $word == end ]] || event "begin $id $kind $node ${*:5}"
	"${word}_$kind" "$id" "$node" "${@:5}" 2>>"$LOG_DIR/commands.log" || done=
	if [[ $word == end ]]; then
		event "end $id $kind $node ${*:5}"
	elif [[ -z $done ]]; then
		event "skipped $id"
	else
		FAULTS_DONE=$((FAULTS_DONE + 1))
	fi
}

# What ran in the background and failed did not strike.
MISSED=0
faults_count() {
	local missed
	missed=$(grep -c '^[0-9.]* missed ' "$LOG_DIR/events" || :)
	FAULTS_DONE=$((FAULTS_DONE - (missed - MISSED)))
	MISSED=$missed
}

round_begin() { # NUMBER gentle|rough
	ROUND=$1
	ROUND_US=${EPOCHREALTIME/./}
	event "round $*"
	mark_all "clock $EPOCHREALTIME" || :
}

# Waits until it holds; 1 if it does not come to that.
await() { # WHAT COMMAND...
	local what=$1 end=$(($(now_cs) + WELL_S * 100))
	shift
	until "$@" >/dev/null 2>>"$LOG_DIR/commands.log"; do
		faults_turn
		[[ $(now_cs) -lt $end ]] || {
			event "unwell $what"
			return 1
		}
		nap 0.1
	done
}

nobody_is_on_hold() {
	local node
	for node in "${NODES[@]}"; do
		fairlead "$node" vip unhold || return 1
	done
}

snapshot_is_taken() {
	FAIRLEAD_TIMEOUT=$SNAPSHOT_TIMEOUT fairlead "${NODES[ROUND % ${#NODES[@]}]}" etcd snapshot save
}

# All faults are over; now the nodes have time to come back, and then nothing may fail.
round_end() {
	await "processes run again" nodes_are_up || return 1
	[[ ${#LATER[@]} -eq 0 ]] || wait "${LATER[@]}" || :
	LATER=()
	faults_count
	await "etcd is whole" members_are_back || return 1
	await "nobody is on hold" nobody_is_on_hold || return 1
	event healed
	await "one owner that all agree on" settled || return 1
	await "every daemon answers" all_answer || return 1
	await "prism finds every API server ready" prisms_are_ready || return 1
	await "the network is what was confirmed" networks_are_right || return 1
	event well
	await "a snapshot is taken" snapshot_is_taken || return 1
	event snapshot
	ROUND_US=${EPOCHREALTIME/./}
	turn_until 1000
	node_usage
}

rounds() {
	local first rest words
	local begun_us=${EPOCHREALTIME/./}
	ROUND=0
	while read -r first rest <&"$PLAN_FD"; do
		read -ra words <<<"$rest"
		if [[ $first != round ]]; then
			turn_until "$first"
			act "${words[@]}"
			continue
		fi
		[[ $ROUND -eq 0 ]] || round_end || return 1
		[[ $FAULTS_DONE -lt $NEMESIS_FAULTS ]] || return 0
		[[ $(((${EPOCHREALTIME/./} - begun_us) / 1000000)) -lt $NEMESIS_SECONDS ]] || return 0
		round_begin "${words[@]}"
	done
	round_end
}

# --- the end -----------------------------------------------------------------------------------------

# Every entry of the catalogues, and whether what it names is sound.
catalogue() {
	local node dir entry file sound
	for node in "${NODES[@]}"; do
		dir=$(etcdwatch_directory "$node")
		while read -r entry; do
			file=$dir/$(jq -r .file <<<"$entry")
			sound=sound
			[[ $(sha256sum "$file" | cut -d ' ' -f 1) == "$(jq -r .file_sha256 <<<"$entry")" ]] || sound=changed
			"$FAIRLEAD" etcd snapshot verify "$file" >>"$LOG_DIR/verify.log" 2>&1 || sound=damaged
			echo "$node $(jq -r .id <<<"$entry") $sound"
		done < <(entries "$node")
	done
}

finish() {
	local node
	event end
	mark_all "clock $EPOCHREALTIME" || :
	alive "observer-$VIP" && alive "tcpwatch-$VIP" || fail "an observer has ended"
	for node in "${NODES[@]}"; do
		kill -TERM "${PID[client-$node]}"
		wait "${PID[client-$node]}" || event "died client-$node $?"
	done
	wire_settle
	foreign_all after
	for node in "${NODES[@]}"; do
		node_kill TERM etcdwatch "$node"
		wait "${PID[etcdwatch-$node]}" || event "died etcdwatch-$node $?"
	done
	catalogue >"$LOG_DIR/catalogue"
}

say "${#NODES[@]} nodes with etcd, API servers and all daemons"
exec {PLAN_FD}<"$NEMESIS_PLAN"
FAULTS_DONE=0
"$TOOLS/ticker" --ahead >"$LOG_DIR/stalls" 2>&1 </dev/null &
"$TOOLS/pace" >"$LOG_DIR/pace" 2>&1 </dev/null &
lan_up
pki_up
machine_slowness
tcp_up
pods_up
observe
nodes_begin
wait_until 60 settled
# Not before: a node without vipd has no gate, and `dnat` translates on each node, also without the address.
observe_tcp "$VIP" "${TCP_PATHS[@]}"
wait_until 60 prisms_are_ready
foreign_all before
clients_begin
event begins
say "the faults of the plan"
# Bash tells of each process that was killed.
rounds 2>>"$LOG_DIR/commands.log" || say "it did not become well again"
finish
say "$FAULTS_DONE faults in $ROUND rounds"
code=0
"$NEMESIS_DIR/judge" --nodes "${#NODES[@]}" "$LOG_DIR" || code=$?
each_of "${ON_END[@]}" -- || code=3 # a sanitizer or a crash
# The judge has shown what there is to see.
trap - EXIT
exit "$code"
