# SPDX-License-Identifier: Apache-2.0
# The world of the measurement: network, mount and process namespaces of its own, so that ports never
# collide, nothing leaves, and nothing stays behind: it is process 1 in there, and with it everything
# ends. The balancer that is measured has CPU 0 for itself; clients and origins share CPU 1.

BALANCER_CPU=0 REST_CPU=1
# What else runs on the machine is to disturb little.
NICE=${NICE:--15}
LOAD=(nice -n "$NICE" taskset -c "$REST_CPU" "$BUILD/bench/load")
declare -A PID # name of a process -> its process id

world_enter() {
	if [[ $$ -ne 1 ]]; then
		[[ $EUID -eq 0 ]] || die "needs root (network namespaces)"
		[[ $(nproc --all) -ge 2 ]] || die "needs two CPUs"
		exec unshare --net --mount --pid --fork --kill-child --mount-proc \
			--propagation private "$BASH" "$0" "$@"
	fi
	mount -t tmpfs -o mode=755 tmpfs /run
	T=/run/bench
	mkdir -p "$T/bin"
	rm -rf "$LOG_DIR"
	mkdir -p "$LOG_DIR"
	# Balancers run as nobody, who need not be able to read the build folder.
	[[ " ${MEASURED[*]} " != *" prism "* ]] || cp "$BUILD/bin/prism" "$BUILD/bin/prism-probe" "$T/bin/"
	# The package makes it: who does not find it among the files asks libnss_systemd, too.
	{ getent -s files group; echo fairlead:x:64064:; } >"$T/group"
	mount --bind "$T/group" /etc/group
	exec {NAP_FD}<> <(:)
	trap 'echo "while: $DOING; logs: $LOG_DIR" >&2' ERR
	ulimit -n "$(ulimit -Hn)"
	ip link set lo up
	# Ports of connections that have just ended come back after a second (tcp_tw_reuse); a measured
	# second of new connections needs more of them than the default range has.
	echo 10000 65535 >/proc/sys/net/ipv4/ip_local_port_range
	echo 4096 >/proc/sys/net/core/somaxconn
	hole_open
}

# An address where packets vanish: a link whose other end belongs to nobody.
HOLE=10.88.0.7
hole_open() {
	ip link add hole type veth peer name hole-end
	ip address add 10.88.0.1/24 dev hole
	ip link set hole up
	ip link set hole-end up
	ip neighbour add "$HOLE" lladdr 02:00:00:00:00:01 dev hole nud permanent
}

die() {
	echo "bench/prism: $*" >&2
	exit 1
}

# Progress, and the heading of what goes wrong next.
say() {
	DOING=$*
	printf '%6d s  %s\n' "$SECONDS" "$*" >&2
}

nap() { # SECONDS; no process is started for it
	read -r -t "$1" -u "$NAP_FD" || true
}

wait_until() { # SECONDS COMMAND...
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[[ $SECONDS -le $end ]] || die "not in time: $* (while: $DOING; logs: $LOG_DIR)"
		nap 0.02
	done
}

listens() { # PORT
	[[ -n $(ss -Htln "sport = :$1") ]]
}

is_closed() { # PORT
	! listens "$1"
}

start() { # NAME CPU COMMAND...; its output goes to the log NAME
	local name=$1 cpu=$2
	shift 2
	nice -n "$NICE" taskset -c "$cpu" "$@" >>"$LOG_DIR/$name.log" 2>&1 </dev/null &
	PID[$name]=$!
}

stop() { # NAME
	[[ -n ${PID[$1]:-} ]] || return 0
	kill -KILL "${PID[$1]}" 2>/dev/null || true
	wait "${PID[$1]}" 2>/dev/null || true
	unset "PID[$1]"
}

sample() { # NAME UNIT VALUE
	echo "$1 $2 $3" >>"$T/samples"
}

# The value of NAME in lines "NAME VALUE" on standard input.
value() { # NAME
	awk -v name="$1" '$1 == name { print $2; found = 1 } END { exit !found }'
}

# What load says, once KEY is in it: on a busy machine it may have had no turn in its time.
load_until() { # KEY ARGUMENT...
	local try out
	for try in 1 2 3 4 5; do
		out=$("${LOAD[@]}" "${@:2}")
		! grep -q "^$1 " <<<"$out" || break
		say "no $1, try $try"
	done
	echo "$out"
}

calc() { # EXPRESSION
	awk "BEGIN { printf \"%.9g\\n\", $1 }"
}
