# SPDX-License-Identifier: Apache-2.0
# What is seen on the LAN: the observer (tests/tools/observer.c), marks in its log, and its judge. Where
# tcpwatch runs as well (lib/tcp.sh), its log is judged with the observer's, as one.

WIRE_ASKS=() # further options of the observer: how it asks

declare -gA WIRE_FD=() # address -> the descriptor that takes marks for its observer
declare -gA TCP_FD=()  # the same for its tcpwatch

wire_log() { # [ADDRESS]
	local address=${1:-$VIP}
	echo "$LOG_DIR/wire-${address//:/-}.log"
}

tcp_log() { # [ADDRESS]
	local address=${1:-$VIP}
	echo "$LOG_DIR/wire-${address//:/-}-tcp.log"
}

wire_logs() { # [ADDRESS]
	local address=${1:-$VIP}
	wire_log "$address"
	[[ -z ${TCP_FD[$address]:-} ]] || tcp_log "$address"
}

# Begins to watch an address; waits until the first question is on the wire.
observe() { # [ADDRESS]
	local address=${1:-$VIP} fifo fd
	fifo=$T/marks-${address//:/-}
	mkfifo "$fifo"
	nsenter --net=/run/netns/obs -- "$TOOLS/observer" --link eth0 --address "$address" "${WIRE_ASKS[@]}" \
		--log "$(wire_log "$address")" <"$fifo" 2>>"$LOG_DIR/observer.log" &
	PID[observer-$address]=$!
	exec {fd}>"$fifo"
	WIRE_FD[$address]=$fd
	wait_until 5 grep -q asking "$(wire_log "$address")"
}

# Puts a name on this moment in every observer's log.
mark_all() { # TEXT
	local fd
	for fd in "${WIRE_FD[@]}" "${TCP_FD[@]}"; do
		printf '%s %s\n' "$EPOCHREALTIME" "$*" >&"$fd"
	done
}

ON_SAY+=(mark_all)

# Waits until a moment marked now is in the log, and hence all before it.
wire_settle() {
	local address log mark="settled $EPOCHREALTIME"
	mark_all "$mark"
	for address in "${!WIRE_FD[@]}"; do
		for log in $(wire_logs "$address"); do
			wait_until 5 marked "$log" "$mark"
		done
	done
	nap 0.05
}

marked() { # LOG MARK: lately
	tail -n 2000 "$1" | has_line -F "mark $2"
}

wire_names() {
	local node
	for node in "${NODES[@]}"; do
		echo "--name=$(node_mac "$node")=$node"
	done
}

# Judges the log of the VIP: options of observer_check. The longest gap is given as on a machine of its
# own (lib/lateness.sh).
wire_check() { # OPTION...
	local options=("$@") from=$STEP i
	for ((i = 0; i < $#; i++)); do
		[[ ${options[i]} != --from ]] || from=${options[i + 1]}
	done
	for ((i = 0; i < $#; i++)); do
		[[ ${options[i]} != --max-gap-ms ]] ||
			options[i + 1]=$(lateness_allow "${options[i + 1]}" "$from")
	done
	wire_settle
	# shellcheck disable=SC2046
	"$TOOLS/observer_check" $(wire_names) "${WIRE_IGNORE[@]}" "${options[@]}" $(wire_logs) ||
		fail "the observer's log (above)"
}

# One figure of the log of the VIP: gap_ms, overlap_ms, to_new_ms, old_last_ms, moves, ...
wire_figure() { # FIGURE OPTION...
	local figure=$1
	shift
	wire_settle
	# shellcheck disable=SC2046
	"$TOOLS/observer_check" --json --allow-silence "${WIRE_IGNORE[@]}" "$@" $(wire_logs) |
		jq -r ".$figure"
}

# In the last moments no two MACs answered. A quick look while time passes; the judge has the last word.
at_most_one_answers() {
	local macs
	macs=$(tail -n 20 "$(wire_log)" | awk '$2 == "answer" { print $3 }' | uniq | wc -l)
	[[ $macs -le 2 ]]
}

WIRE_IGNORE=() # --ignore=MAC of hosts that are none of ours

# Every story ends with this: never two beyond what it allows, and the observer has seen somebody.
wire_check_invariant() {
	local address bad=0
	[[ ${#WIRE_FD[@]} -gt 0 ]] || {
		echo "FAILED: the story never looked at the wire"
		return 1
	}
	STEP="the invariant"
	wire_settle
	for address in "${!WIRE_FD[@]}"; do
		# shellcheck disable=SC2046
		"$TOOLS/observer_check" $(wire_names) "${WIRE_IGNORE[@]}" \
			--max-overlap-ms "$OVERLAP_MS" $(wire_logs "$address") || bad=1
	done
	[[ $bad -eq 0 ]] || echo "FAILED: two owners at once"
	return "$bad"
}

ON_END+=(wire_check_invariant)

wire_report_all() {
	local address
	for address in "${!WIRE_FD[@]}"; do
		echo "--- the wire, $address"
		# shellcheck disable=SC2046
		"$TOOLS/observer_check" $(wire_names) "${WIRE_IGNORE[@]}" --allow-silence \
			--max-overlap-ms "$OVERLAP_MS" $(wire_logs "$address")
		[[ $? -ne 1 ]] || UNSAFE="two owners of $address"
	done
}

ON_FAILURE+=(wire_report_all)
