# SPDX-License-Identifier: Apache-2.0
# So many links made by each in turn, in a namespace that has just been made; then what only netconf
# does: a second apply, the way back, and the memory of its daemon. SHAPE is one of shapes.sh; WORK is
# where netconf keeps its state, on a disk, or $T, which is memory.

NETWORKD=/lib/systemd/systemd-networkd
HEARD=$BUILD/bench/heard
# What netconf waits between its answer and its first write (netconf/change/transaction.c).
HEAD_START_MS=200

sample() { # NAME UNIT VALUE
	echo "$1 $2 $3" >>"$LOG_DIR/samples"
}

# Of N links.
sample_at_size() { # NAME UNIT VALUE
	sample "$1_at_$N" "$2" "$3"
}

calculate() { # EXPRESSION
	awk "BEGIN { print $1 }"
}

# A round's, to compare within the round.
declare -A LAST
note_ms() { # SUBJECT FIGURE VALUE
	sample_at_size "$1_${SHAPE}_$2" ms "$3"
	LAST[$1_$2]=$3
}

# Runs it in the node's namespace; what the kernel told meanwhile is in TOLD.
declare -A TOLD
heard() { # [--until ADDRESSES ROUTES SECONDS] COMMAND...
	try_heard "$@" || fail "$* failed: $(tail -n 3 "$T/out" "$T/err")"
}

try_heard() {
	local words word
	inside n1 "$HEARD" "$@" >"$T/out" 2>"$T/err" || return 1
	read -ra words < <(tail -n 1 "$T/err")
	for word in "${words[@]}"; do
		TOLD[${word%%=*}]=${word#*=}
	done
}

# The kernel takes a namespace apart behind the back of whoever deletes it, and holds the lock of all
# changes meanwhile: whoever came next would wait for what the one before has left. A link of ours to it
# goes with its last link.
namespace_delete() { # NS
	[[ -e /run/netns/$1 ]] || return 0
	ip link add "to-$1" type veth peer name last netns "$1"
	ip netns delete "$1"
	wait_until 60 is_away "to-$1"
}

# Whoever asks waits for the lock as well.
is_away() { # LINK
	! ip link show "$1"
}

fresh() {
	namespace_delete n1
	namespace_delete sw
	if [[ $SHAPE == bond ]]; then
		cables_new 2
		far_new far0 bridge -- 1 2
		ip -n n1 link set p1 up
		ip -n n1 link set p2 up
	else
		ip netns add n1
		ip -n n1 link set lo up
		inside n1 sysctl -qw net.ipv6.conf.{all,default}.accept_dad=0
	fi
	rm -rf "$T/run-n1" "$T/state" "$WORK/state"
	mkdir -p "$T/run-n1" "$T/files"
}

expect_all_there() {
	expect_equal "what has come" "${TOLD[addresses]} addresses ${TOLD[routes]} routes" \
		"$((4 * N)) addresses $((4 * N)) routes"
}

note_made() { # SUBJECT
	note_ms "$1" made_ms "${TOLD[wall_ms]}"
	note_ms "$1" made_cpu_ms "${TOLD[cpu_ms]}"
}

# --- each of them ------------------------------------------------------------------------------------

make_ip() {
	fresh
	heard ip -batch "$T/many.batch"
	expect_all_there
	note_made ip
	heard ip -batch "$T/back.batch"
	note_ms ip rollback_ms "${TOLD[wall_ms]}"
}

# It has no udev to wait for where /sys is read-only, and no bus. What is not there by then never comes:
# it gives each question to the kernel 25 s, and a link that had one too slow is left as it is.
make_networkd() {
	fresh
	rm -rf /run/systemd/network /run/systemd/netif
	mkdir -p /run/systemd
	cp -r "$T/networkd" /run/systemd/network
	chmod -R a+rX /run/systemd
	try_heard --until $((4 * N)) $((4 * N)) "$NETWORKD_S" "$NETWORKD" || {
		say "networkd: $(grep -c ': Failed$' "$T/err" || true) links failed"
		cp "$T/err" "$LOG_DIR/networkd-$N.log"
		sample_at_size "networkd_${SHAPE}_gave_up" runs 1
		return 0
	}
	expect_all_there
	note_made networkd
}

once() { # SUBJECT STATE-FOLDER: twice
	fresh
	heard "$NETCONF" --once --config "$T/many.yaml" --state-dir "$2"
	expect_all_there
	note_made "$1"
	# What the kernel does by itself with new links is over.
	wait_until 60 is_at_rest
	heard "$NETCONF" --once --config "$T/many.yaml" --state-dir "$2"
	note_ms "$1" again_ms "${TOLD[wall_ms]}"
	note_ms "$1" again_cpu_ms "${TOLD[cpu_ms]}"
	sample_at_size "$1_${SHAPE}_again_writes" messages "${TOLD[messages]}"
}

make_once() {
	once once "$WORK/state"
}

make_unsynced() {
	once unsynced "$T/state"
}

memory_of() { # FIGURE PID FIELD...
	local field
	for field in "${@:3}"; do
		sample_at_size "$1_${field,,}_kib" KiB "$(awk -v "field=$field:" '$1 == field { print $2 }' \
			"/proc/$2/status" "/proc/$2/smaps_rollup")"
	done
}

change() { # NAME
	heard "$FAIRLEAD" --runtime-dir "$T/run-n1" net apply --confirm-within 5m "$T/$1.yaml"
	cp "$T/out" "$LOG_DIR/apply-$1.log"
}

# The phase is the state file's newest word.
ready_ms() { # SINCE: seconds
	calculate "($(stat -c %.6Y "$STATE/transaction/state.json") - $1) * 1000 - $HEAD_START_MS"
}

daemon_start() {
	mkdir -p "$STATE"
	: >"$T/files/empty.yaml"
	nsenter --net=/run/netns/n1 -- "$NETCONF" --config "$T/files" --runtime-dir "$T/run-n1" \
		--state-dir "$STATE" >>"$LOG_DIR/netconf.log" 2>&1 </dev/null &
	PID[netconf]=$!
	wait_until 30 netconf_answers
}

rollback() { # FIGURE: to what $LOG_DIR/before has
	heard "$FAIRLEAD" --runtime-dir "$T/run-n1" net rollback
	note_ms apply "$1" "${TOLD[last_ms]}"
	wait_until 60 is_at_rest
	network >"$LOG_DIR/now"
	sample_at_size "apply_${SHAPE}_differences" lines "$(differences)"
}

# In ticks of 10 ms.
daemon_cpu_ms() {
	awk '{ sub(/.*\) /, ""); print ($12 + $13) * 10 }' "/proc/${PID[netconf]}/stat"
}

make_apply() {
	local began cpu
	STATE=$WORK/state
	fresh
	wait_until 60 is_at_rest
	network >"$LOG_DIR/before"
	daemon_start
	memory_of "apply_${SHAPE}_idle" "${PID[netconf]}" VmRSS Pss
	cpu=$(daemon_cpu_ms)
	began=$EPOCHREALTIME
	change many
	note_ms apply made_ms "$(ready_ms "$began")"
	note_ms apply made_cpu_ms "$(calculate "$(daemon_cpu_ms) - $cpu")"
	note_ms apply writing_ms "$(calculate "${TOLD[last_ms]} - ${TOLD[first_ms]}")"
	memory_of "apply_${SHAPE}_peak" "${PID[netconf]}" VmHWM
	memory_of "apply_${SHAPE}_awaiting" "${PID[netconf]}" VmRSS Pss
	memory_of "apply_${SHAPE}_guard" "$(guard_pid)" VmRSS Pss
	rollback rollback_ms
	make_more
	kill_hard netconf
}

differences() {
	diff "$LOG_DIR/before" "$LOG_DIR/now" >"$LOG_DIR/difference" || cat "$LOG_DIR/difference" >>"$LOG_DIR/differences.log"
	grep -c '^[<>]' "$LOG_DIR/difference" || true
}

guard_pid() {
	pgrep -o -f -- "--guard .* --state-dir $STATE"
}

# One address more on a network of that size, and back; then once more, by the deadline.
make_more() {
	change many
	fairlead n1 net confirm >"$T/out"
	wait_until 60 is_at_rest
	network >"$LOG_DIR/before"
	change more
	rollback rollback_one_ms
	[[ -z $QUICK ]] || return 0
	deadline
}

deadline() {
	local due_us
	fairlead n1 net apply --confirm-within 5s "$T/more.yaml" >"$T/out"
	due_us=$(jq .deadline_us "$STATE/transaction/state.json")
	heard bash -c "exec 9<> <(:); while [[ -e $STATE/transaction/state.json ]]; do read -r -t 0.05 -u 9 || :; done"
	note_ms apply deadline_ms "$(calculate "(${TOLD[last_us]} - $due_us) / 1000")"
}

# --- rounds ------------------------------------------------------------------------------------------

compare() { # SUBJECT OTHER
	[[ -n ${LAST[$1_made_ms]:-} && -n ${LAST[$2_made_ms]:-} ]] || return 0
	sample_at_size "$1_${SHAPE}_to_$2" x "$(calculate "${LAST[$1_made_ms]} / ${LAST[$2_made_ms]}")"
	sample_at_size "$1_${SHAPE}_cpu_to_$2" x "$(calculate "${LAST[$1_made_cpu_ms]} / ${LAST[$2_made_cpu_ms]}")"
}

# In another order each round.
sizes_round() { # ROUND
	local subjects=(once ip networkd apply) i
	[[ $WORK == "$T" ]] || subjects+=(unsynced)
	LAST=()
	say "$SHAPE, $N of them, round $1"
	for ((i = 0; i < ${#subjects[@]}; i++)); do
		"make_${subjects[($1 + i) % ${#subjects[@]}]}"
	done
	for i in once unsynced apply; do
		compare "$i" ip
		compare "$i" networkd
	done
}

sizes() { # ROUNDS SIZE...
	local round rounds
	for N in "${@:2}"; do
		# What takes that long varies less.
		rounds=$((N <= 100 ? $1 : $1 > 5 ? 3 : ($1 + 1) / 2))
		shape_write "$SHAPE"
		for ((round = 1; round <= rounds; round++)); do
			sizes_round "$round"
		done
	done
}
