# SPDX-License-Identifier: Apache-2.0
# The world of one story: its own network, mount and process namespaces, so that it can harm nothing
# outside and nothing of it can stay behind. The story is process 1 in there: when it ends, however it
# ends, the kernel kills what it started, and with the last process go namespaces, links and files.
# Also: processes by name, waiting, failing.

declare -gA PID=() # name of a process -> its process id; names are KIND-NODE

# What the other parts add to every story: functions.
ON_SAY=()     # TEXT: a sentence was said
ON_END=()     # all went well so far: what must still hold; returns 1 after it said what does not
ON_FAILURE=() # shows evidence
UNSAFE=       # set by these: what must not happen however slow the machine is

# shellcheck source=tests/netns/lib/sanitizers.sh
. "${BASH_SOURCE[0]%/*}/sanitizers.sh"

# Runs this script again inside a new world, unless it is there already.
world_enter() {
	if [[ $$ -ne 1 ]]; then
		[[ $EUID -eq 0 ]] || {
			echo "$STORY: needs root (network namespaces)" >&2
			exit 1
		}
		exec unshare --net --mount --pid --fork --kill-child --mount-proc \
			--propagation private "$BASH" "$0" "$@"
	fi
	# Runtime sockets, namespaces, etcd's data: in memory, seen by nobody else. etcd's fsync is fast.
	mount -t tmpfs -o mode=755 tmpfs /run
	# libfaketime leaves files there that are named by process ids, which are low here.
	[[ ! -d /dev/shm ]] || mount -t tmpfs -o mode=1777 tmpfs /dev/shm
	mkdir -p /run/story /run/netns
	T=/run/story
	rm -rf "$LOG_DIR"
	mkdir -p "$LOG_DIR"
	exec {NAP_FD}<> <(:)
	# A function that fails while its output goes elsewhere must still be heard.
	exec {OUT_FD}>&1
	sanitizers_begin
	ip link set lo up
	BEGAN_CS=$(now_cs)
	STEP="setting up"
	trap 'story_end $?' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM # the time is up
	trap 'FAILED_AT="${BASH_SOURCE[0]##*/}:$LINENO: $BASH_COMMAND"' ERR
}

# A sentence of the story. It is the heading of what goes wrong next.
say() {
	STEP=$*
	printf '%7s  %s\n' "$(seconds_text $(($(now_cs) - BEGAN_CS)))" "$*"
	each_of "${ON_SAY[@]}" -- "$*"
}

# Calls one function after the other, with the arguments behind --; 1 if one of them failed.
each_of() { # FUNCTION... -- ARGUMENT...
	local functions=() code=0 function
	while [[ $1 != -- ]]; do
		functions+=("$1")
		shift
	done
	shift
	for function in "${functions[@]}"; do
		"$function" "$@" || code=1
	done
	return "$code"
}

seconds_text() { # CENTISECONDS
	printf '%d.%02d' $(($1 / 100)) $(($1 % 100))
}

# The story is over: with a broken promise, unless proven otherwise.
fail() {
	printf 'FAILED: %s\n  while: %s\n' "$*" "$STEP" >&"$OUT_FD"
	FAILED_AT=
	exit 1
}

# Ends every story: checks what always holds, and on failure shows what there is to see. 1: something
# does not hold, which a machine too slow for the story may have caused; 3: what no machine excuses.
story_end() {
	local code=$1
	trap - ERR EXIT
	set +eu
	exec 1>&"$OUT_FD"
	if [[ $code -eq 0 ]]; then
		each_of "${ON_END[@]}" -- || code=1
	elif [[ -n ${FAILED_AT:-} ]]; then
		printf 'FAILED: %s\n  while: %s\n' "$FAILED_AT" "$STEP"
	fi
	sanitizers_are_silent || {
		code=1
		UNSAFE=yes
	}
	[[ $code -eq 0 || $code -eq 130 ]] || {
		story_evidence
		code=1 # of whatever failed, it says nothing to those who run stories
	}
	[[ -z $UNSAFE ]] || code=3
	exit "$code"
}

story_evidence() {
	local log lines
	each_of "${ON_FAILURE[@]}" --
	for log in "$LOG_DIR"/*.log; do
		case ${log##*/} in
		wire-* | openssl.log | etcdctl.log) continue ;;
		vipd-* | prism-*) lines=20 ;;
		*) lines=4 ;;
		esac
		[[ -s $log ]] || continue
		echo "--- the end of ${log##*/}"
		tail -n "$lines" "$log" | cut -c1-300
	done
}

# Runs COMMAND in namespace NS in the background; its output goes to the log NAME.
spawn() { # NAME NS COMMAND...
	local name=$1 ns=$2
	shift 2
	nsenter --net=/run/netns/"$ns" -- "$@" >>"$LOG_DIR/$name.log" 2>&1 </dev/null &
	PID[$name]=$!
}

inside() { # NS COMMAND...
	local ns=$1
	shift
	nsenter --net=/run/netns/"$ns" -- "$@"
}

alive() { # NAME
	[[ -n ${PID[$1]:-} ]] && kill -0 "${PID[$1]}" 2>/dev/null
}

gone() { # NAME
	! alive "$1"
}

signal() { # SIGNAL NAME
	alive "$2" || fail "$2 is not running"
	kill -"$1" "${PID[$2]}"
}

# kill -9, and the process is gone when this returns.
kill_hard() { # NAME...
	local name
	for name in "$@"; do
		alive "$name" || continue
		kill -KILL "${PID[$name]}"
		wait "${PID[$name]}" 2>/dev/null || true
		unset "PID[$name]"
	done
}

# Waits for a process to end by itself within SECONDS; sets EXIT_CODE.
wait_exit() { # SECONDS NAME
	wait_until "$1" gone "$2"
	EXIT_CODE=0
	wait "${PID[$2]}" 2>/dev/null || EXIT_CODE=$?
	unset "PID[$2]"
}

nap() { # SECONDS; no process is started for it
	read -r -t "$1" -u "$NAP_FD" || true
}

now_cs() {
	local now _
	read -r now _ </proc/uptime
	echo $((10#${now/./}))
}

# Polls until COMMAND succeeds, which takes SECONDS at most where the machine has nothing else to do. One
# that is busy gets a minute more: what must come in time is measured, and not waited for.
PATIENCE_S=60
wait_until() { # SECONDS COMMAND...
	local seconds=$(($1 + PATIENCE_S)) end
	shift
	end=$(($(now_cs) + seconds * 100))
	until "$@" >/dev/null 2>&1; do
		[[ $(now_cs) -lt $end ]] || fail "not within $seconds s: $*"
		nap 0.05
	done
}

# COMMAND must hold again and again for SECONDS.
for_seconds() { # SECONDS COMMAND...
	local seconds=$1 end
	shift
	end=$(($(now_cs) + seconds * 100))
	while [[ $(now_cs) -lt $end ]]; do
		"$@" >/dev/null || fail "no longer holds: $*"
		nap 0.1
	done
}

expect() { # WHAT COMMAND...: the command must succeed now
	local what=$1
	shift
	"$@" || fail "$what"
}

expect_equal() { # WHAT GOT WANTED
	[[ $2 == "$3" ]] || fail "$1: '$2', expected '$3'"
}

# For the end of a pipe: grep -q leaves at the first match, and whoever writes on fails for it.
has_line() { # GREP-ARGUMENT...
	grep "$@" >/dev/null
}

log_says() { # NAME PATTERN
	grep -Eq -- "$2" "$LOG_DIR/$1.log"
}

# fairlead(1), to the daemon whose runtime folder carries that name. No network is between them.
fairlead() { # NAME ARGUMENT...
	local name=$1
	shift
	# shellcheck disable=SC2086
	timeout "${FAIRLEAD_TIMEOUT:-15}" ${WRAP:-} "$FAIRLEAD" --runtime-dir "$T/run-$name" "$@"
}
