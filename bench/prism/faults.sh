# SPDX-License-Identifier: Apache-2.0
# What clients see of a fault: one comes every 20 ms on a new connection to each balancer, asks once and
# waits up to $PATIENCE_MS. All balancers meet the same fault at the same time. Checks are on, three
# upstreams, the first one is hit. One more client goes to the third directly: what it has to wait for is
# the machine's doing, and `added` is without that.
#   kill       kill -9: refuses from then on
#   blackhole  the first upstream swallows SYNs, from before the balancer starts
#   silence    SIGSTOP: the kernel accepts, nobody answers
#   readyz     /readyz answers 500, requests are answered still
#   term       SIGTERM without a shutdown delay: requests under way are answered, new ones refused

FAULTS=(kill blackhole silence readyz term)
declare -A WATCH LONGEST

visitor_start() { # NAME ADDRESS
	"${LOAD[@]}" watch --to "$2" --interval-ms 20 --timeout-ms "$PATIENCE_MS" \
		>"$T/watch-$1" 2>>"$LOG_DIR/watch-$1.log" </dev/null &
	WATCH[$1]=$!
}

visitors_start() {
	local name
	visitor_start direct "${CHECKED_UPSTREAMS[2]}"
	for name in "${MEASURED[@]}"; do
		visitor_start "$name" "127.0.0.1:${PORT[$name]}"
	done
}

visitor_end() { # NAME FAULT
	wait "${WATCH[$1]}" || die "the client of $1 failed"
	LONGEST[$1]=$(value longest_ms <"$T/watch-$1")
	sample "$1_$2_failed" requests "$(value failed <"$T/watch-$1")"
	sample "$1_$2_longest_ms" ms "${LONGEST[$1]}"
}

visitors_end() { # FAULT
	local name
	kill -TERM "${WATCH[@]}"
	visitor_end direct "$1"
	for name in "${MEASURED[@]}"; do
		visitor_end "$name" "$1"
		sample "${name}_$1_added_ms" ms "$(calc "${LONGEST[$name]} - ${LONGEST[direct]}")"
		[[ $1 != readyz ]] || readyz_left "$name" "$(value last_from_1 <"$T/watch-$name")"
		FAILED[$name]=$((${FAILED[$name]:-0} + $(value failed <"$T/watch-$name")))
	done
	WATCH=()
}

# When the last request went to whom /readyz says not to; who never left has no figure.
readyz_left() { # BALANCER LAST_MS
	[[ $(($(now_ms) - ${2%.*})) -lt 1000 ]] ||
		sample "$1_readyz_left_ms" ms "$(calc "$2 - $HIT_MS")"
}

# Milliseconds since boot, as the client's CLOCK_MONOTONIC tells them.
now_ms() {
	local now _
	read -r now _ </proc/uptime
	echo $((10#${now/./} * 10))
}

hit() { # FAULT
	case $1 in
	kill) stop origin1 ;;
	silence) kill -STOP "${PID[origin1]}" ;;
	readyz) kill -USR1 "${PID[origin1]}" ;;
	term) kill -TERM "${PID[origin1]}" ;;
	blackhole) ;;
	esac
	HIT_MS=$(now_ms)
}

declare -A FAILED
fault() { # FAULT RUN
	local name upstreams=("${CHECKED_UPSTREAMS[@]}")
	say "fault, run $2: $1"
	for name in "${MEASURED[@]}"; do
		echo "--- $1, run $2" >>"$LOG_DIR/watch-$name.log"
	done
	[[ $1 != blackhole ]] || upstreams[0]=$HOLE:6443
	for name in "${MEASURED[@]}"; do
		balancer_start "$name" on "${upstreams[@]}"
	done
	[[ $1 == blackhole ]] || nap "$SETTLE_S"
	visitors_start
	[[ $1 == blackhole ]] || nap 0.5
	hit "$1"
	if [[ $1 == readyz ]]; then nap "$READYZ_S"; else nap "$FAULT_S"; fi
	visitors_end "$1"
	for name in "${MEASURED[@]}"; do
		balancer_stop "$name"
	done
	stop origin1
	origin_start 1
}

faults() { # RUN
	local fault name
	FAILED=()
	for fault in "${FAULTS[@]}"; do
		fault "$fault" "$1"
	done
	for name in "${MEASURED[@]}"; do
		sample "${name}_faults_failed" requests "${FAILED[$name]}"
	done
}
