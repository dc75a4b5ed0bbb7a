# SPDX-License-Identifier: Apache-2.0
# What the demo shows: a picture of two dozen lines, drawn over itself five times a second, or plain lines
# where standard output is no terminal. It runs as a process of its own, so that it lives while the
# story waits. What it shows comes from where an operator would look: `fairlead vip status` of each
# node, the observer's log, the client's log. Only what nobody can ask for comes from the story, an
# event a line:
#   node NAME on|off               its power
#   step N active|done|failed TEXT
#   end                            draw once more, and leave

SCREEN_STRIP=56      # columns
SCREEN_COLUMN_CS=25  # the time that a column stands for
SCREEN_ROWS=29       # that the picture and the summary below it need
SCREEN_SECONDS=0.2
SCREEN_PLAIN_CS=500  # without a terminal: a line at least this often

# Sets SCREEN_LIVE, and what this terminal can show.
screen_prepare() {
	local rows=0 columns=0
	SCREEN_LIVE=
	if [[ -t 1 && ${TERM:-dumb} != dumb ]]; then
		read -r rows columns < <(stty size 2>/dev/null) || true
		[[ $rows -lt $SCREEN_ROWS || $columns -lt 80 ]] || SCREEN_LIVE=yes
	fi
	if [[ $(locale charmap 2>/dev/null) == UTF-8 ]]; then
		FULL_BAR=████████████ EMPTY_BAR=░░░░░░░░░░░░ OK=• FAILED=× DONE=✓ ACTIVE=▸ NOBODY=·
	else
		FULL_BAR='############' EMPTY_BAR='------------' OK=o FAILED=x DONE=+ ACTIVE='>' NOBODY=.
	fi
	BOLD='' DIM='' RED='' GREEN='' YELLOW='' PLAIN='' PENS=('' '' '')
	[[ -n $SCREEN_LIVE && -z ${NO_COLOR:-} ]] || return 0
	BOLD=$'\e[1m' DIM=$'\e[2m' RED=$'\e[31m' GREEN=$'\e[32m' YELLOW=$'\e[33m' PLAIN=$'\e[0m'
	PENS=($'\e[36m' $'\e[35m' $'\e[34m')
}

# --- the story's side ----------------------------------------------------------------------------

screen_start() {
	mkfifo "$T/screen"
	exec {SCREEN_FD}<>"$T/screen"
	[[ -z $SCREEN_LIVE ]] || printf '\e[?25l\e[?7l' # no cursor, no wrapping
	screen_run &
	SCREEN_PID=$!
}

screen_tell() { # EVENT
	[[ -z ${SCREEN_PID:-} ]] || printf '%s\n' "$*" >&"$SCREEN_FD"
}

screen_end() {
	[[ -n ${SCREEN_PID:-} ]] || return 0
	screen_tell end
	wait "$SCREEN_PID" || true
	SCREEN_PID=
	[[ -z $SCREEN_LIVE ]] || printf '\e[?25h\e[?7h'
}

# --- the screen's side ---------------------------------------------------------------------------

screen_run() {
	trap - ERR EXIT
	trap '' INT TERM HUP QUIT # the story says when
	set +eE
	local -A power fields
	local -a steps step_states
	local event node ending='' drawn=0 now=0 wire=''
	local -a strips=('' '') answered=(0 0) unanswered=(0 0)
	local said='' said_cs=0
	for node in "${NODES[@]}"; do
		power[$node]=on
	done
	while [[ -z $ending ]]; do
		while read -r -t "$SCREEN_SECONDS" -u "$SCREEN_FD" event; do
			screen_take "$event"
			[[ -z $ending ]] || break
		done
		now=$(now_cs)
		screen_ask_nodes
		screen_read_logs
		if [[ -n $SCREEN_LIVE ]]; then
			screen_draw
		else
			screen_say_nodes
		fi
	done
}

screen_take() { # EVENT
	local kind name what text
	read -r kind name what text <<<"$1"
	case $kind in
	node) power[$name]=$what ;;
	step)
		step_states[name]=$what steps[name]=$text
		[[ -n $SCREEN_LIVE ]] || printf '%7s  %s\n' "$(screen_elapsed)" "$(screen_step "$name")"
		;;
	end) ending=yes ;;
	esac
}

screen_elapsed() {
	local ds=$((($(now_cs) - BEGAN_CS) / 10))
	printf '%d.%d' $((ds / 10)) $((ds % 10))
}

# fields[NODE]: what its vipd says, or nothing.
screen_ask_nodes() {
	local node line
	fields=()
	while IFS='|' read -r node line; do
		fields[$node]=$line
	done < <(
		for node in "${NODES[@]}"; do
			[[ -S $T/run-$node/vipd.sock ]] || continue
			timeout 1 "$FAIRLEAD" --runtime-dir "$T/run-$node" -o json vip status "$VIP" 2>/dev/null
		done | jq -r '[.node, .state, .epoch, .fence_left_ms, .fence_window_ms, .confirm_rtt_ms,
			.health, .etcd_leader] | map(if . == null then "" else tostring end) | join("|")'
	)
}

screen_read_logs() {
	{
		IFS= read -r wire
		IFS= read -r strips[0]
		IFS= read -r strips[1]
		read -r answered[0] unanswered[0]
		read -r answered[1] unanswered[1]
	} < <(
		tail -n 4500 "$(wire_log)" 2>/dev/null | awk -v now_us="${now}0000" -v columns="$SCREEN_STRIP" \
			-v column_us="${SCREEN_COLUMN_CS}0000" -v ok="$OK" -v failed="$FAILED" \
			-v nobody="$NOBODY" -v pen1="${PENS[0]}" -v pen2="${PENS[1]}" -v pen3="${PENS[2]}" \
			-v pen_ok="$GREEN" -v pen_failed="$RED" -v plain="$PLAIN" \
			-v clients=2 -f "$ROOT/demo/strips.awk" \
			client=1 "$LOG_DIR/client-vip.log" client=2 "$LOG_DIR/client-prism.log" -
	)
}

# "2.4" of 2412.3 (milliseconds)
screen_seconds() { # MS
	local ms=${1%.*}
	printf '%d.%d' $((ms / 1000)) $((ms / 100 % 10))
}

screen_fence() { # LEFT_MS WINDOW_MS
	local columns=${#FULL_BAR} full
	full=$(((${1%.*} * columns + $2 / 2) / $2))
	full=$((full < 0 ? 0 : full > columns ? columns : full))
	printf '%s%s %s s' "${FULL_BAR:0:full}" "${EMPTY_BAR:full}" "$(screen_seconds "$1")"
}

screen_node() { # NODE
	local state epoch left window rtt health leads pen='' mark=' ' fence=''
	if [[ ${power[$1]} == off ]]; then
		printf '  %s%s    no power%s' "$RED" "$1" "$PLAIN"
		return
	fi
	if [[ -z ${fields[$1]:-} ]]; then
		printf '  %s%s    starting%s' "$DIM" "$1" "$PLAIN"
		return
	fi
	IFS='|' read -r state epoch left window rtt health leads <<<"${fields[$1]}"
	case $state in
	owner) pen=$BOLD$GREEN mark='*' ;;
	taking | yielding) pen=$YELLOW ;;
	esac
	[[ -z $left ]] || fence=$(screen_fence "$left" "$window")
	# What a former owner once measured says nothing about now.
	[[ -n $left && -n $rtt ]] && rtt="$(printf '%.1f' "$rtt") ms" || rtt=
	[[ $leads == true ]] && leads=leader || leads=
	[[ -n $fence ]] || printf -v fence '%*s' $((${#FULL_BAR} + 6)) '' # by hand: it counts bytes
	printf '  %s%s  %s %-9s %5s  %s  %9s  %-8s %s%s' "$pen" "$1" "$mark" "$state" "$epoch" "$fence" \
		"$rtt" "$health" "$leads" "$PLAIN"
}

screen_step() { # N
	local mark=' ' pen=$DIM
	case ${step_states[$1]} in
	active) mark=$ACTIVE pen=$BOLD ;;
	done) mark=$DONE pen=$GREEN ;;
	failed) mark=$FAILED pen=$RED ;;
	esac
	printf '  %s%s%s %s%s' "$pen" "$mark" "$PLAIN" "${steps[$1]}" "$PLAIN"
}

screen_draw() {
	local node i picture
	local -a lines=(
		"$(printf '  %s%-60s%s%11s s' "$BOLD" "fairlead: $VIP is on one node of three at a time" \
			"$PLAIN" "$(screen_elapsed)")"
		""
		"  ${DIM}node   state     epoch  fence left          confirmed  health   etcd$PLAIN"
	)
	for node in "${NODES[@]}"; do
		lines+=("$(screen_node "$node")")
	done
	lines+=(
		""
		"  who answers ARP  $wire"
		"  client of VIP    ${strips[0]}"
		"  client of prism  ${strips[1]}"
		"  $DIM$(printf '%-15s%-20s%36s' '' '14 s ago' now)$PLAIN"
		""
	)
	for i in "${!steps[@]}"; do
		lines+=("$(screen_step "$i")")
	done
	printf -v picture '%s\e[K\n' "${lines[@]}"
	if [[ $drawn -gt 0 ]]; then
		printf -v picture '\e[%dA%s' "$drawn" "$picture"
	fi
	printf '%s' "$picture"
	drawn=${#lines[@]}
}

# Without a terminal: a line when somebody's state has changed, and now and then.
screen_say_nodes() {
	local node state epoch left _ text='' states=''
	for node in "${NODES[@]}"; do
		IFS='|' read -r state epoch left _ <<<"${fields[$node]:-starting}"
		[[ ${power[$node]} == on ]] || state='no power' left=
		states+=" $state"
		text+="$node $state"
		[[ -z $left ]] || text+=" (epoch $epoch, fence $(screen_seconds "$left") s)"
		text+=', '
	done
	[[ $states != "$said" || $((now - said_cs)) -ge $SCREEN_PLAIN_CS ]] || return 0
	said=$states said_cs=$now
	printf '%7s    %sfailed: %d of VIP, %d of prism\n' "$(screen_elapsed)" "$text" "${unanswered[0]}" \
		"${unanswered[1]}"
}
