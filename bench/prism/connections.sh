# SPDX-License-Identifier: Apache-2.0
# What connections that are only there cost, with checks on, as it would run: memory and CPU time of a
# fresh balancer, and with more and more idle connections, each of which has carried one request. Then,
# on the way back, what a request costs on 50 others while so many are idle.

CHECKED_UPSTREAMS=(127.0.3.1:6443 127.0.3.2:6443 127.0.3.3:6443)

origin_start() { # NUMBER
	start "origin$1" "$REST_CPU" "$BUILD/bench/origin" --number "$1" \
		--tls "$PKI/api.crt,$PKI/api.key" "${CHECKED_UPSTREAMS[$1 - 1]}"
	wait_until 5 origin_answers "$1"
}

origin_answers() { # NUMBER
	curl -s --cacert "$PKI/cluster-ca.crt" --resolve "kubernetes:6443:127.0.3.$1" \
		https://kubernetes:6443/readyz
}

memory_of() { # KEY PID...; KiB
	local key=$1 pid
	shift
	for pid; do
		cat "/proc/$pid/smaps_rollup"
	done | awk -v key="$key:" '$1 == key { sum += $2 } END { print sum }'
}

memory_is_steady() { # PID...: the same twice, 0.3 s apart
	local before
	before=$(memory_of Rss "$@")
	nap 0.3
	[[ $(memory_of Rss "$@") == "$before" ]]
}

# CPU time of all threads, in us.
cpu_us_of() { # PID...
	local pid
	for pid; do
		cat /proc/"$pid"/task/*/schedstat
	done | awk '{ sum += $1 } END { printf "%.0f\n", sum / 1000 }'
}

held_is() { # NUMBER
	local said
	read -r _ said <"$T/held-$1" && [[ $said -eq $2 ]]
}

# One holder more, so that there are NUMBER connections.
hold() { # BALANCER NUMBER
	local more=$(($2 - HOLDING))
	[[ $more -gt 0 ]] || return 0
	: >"$T/held-$2"
	# It goes when its input ends, which this one never does.
	"${LOAD[@]}" hold --to "127.0.0.1:${PORT[$1]}" --connections "$more" --timeout-ms 60000 \
		<&"$NAP_FD" >"$T/held-$2" 2>>"$LOG_DIR/hold-$1.log" &
	PID[hold$2]=$!
	wait_until 60 held_is "$2" "$more"
	HOLDING=$2
}

established() { # PORT
	ss -Htn state established "sport = :$1" | wc -l
}

# And their other halves behind the balancer, but for a few of the checks.
are_open() { # PORT NUMBER
	[[ $(established "$1") -eq $2 && $(established 6443) -le $(($2 + 20)) ]]
}

# It has done what there was to do.
does_little() { # PID...: less than a tenth of 0.2 s
	local before
	before=$(cpu_us_of "$@")
	nap 0.2
	[[ $(($(cpu_us_of "$@") - before)) -lt 20000 ]]
}

# The last holder leaves, and its connections with it.
release() { # BALANCER NUMBER LEFT
	local pids
	stop "hold$2"
	HOLDING=$3
	wait_until 60 are_open "${PORT[$1]}" "$3"
	mapfile -t pids < <(balancer_pids "$1")
	wait_until 60 does_little "${pids[@]}" "${PID[origin1]}" "${PID[origin2]}" "${PID[origin3]}"
}

# A figure, and its share of HAProxy's in this round.
declare -A NOTED
note() { # BALANCER FIGURE UNIT VALUE
	sample "$1_$2" "$3" "$4"
	NOTED["$1 $2"]=$4
	[[ $1 == haproxy || ${NOTED["haproxy $2"]:-0} == 0 ]] ||
		sample "$1_$(sed -E 's/_(kib|us|us_per_s)_at/_at/' <<<"$2")_vs_haproxy" x \
			"$(calc "$4 / ${NOTED["haproxy $2"]}")"
}

# What all its processes cost while nobody asks for anything.
at_rest() { # BALANCER NUMBER PID...
	local name=$1 number=$2 before began ended
	shift 2
	before=$(cpu_us_of "$@")
	began=${EPOCHREALTIME/./}
	nap "$IDLE_S"
	ended=${EPOCHREALTIME/./}
	note "$name" "idle_cpu_us_per_s_at_$number" us/s \
		"$(calc "($(cpu_us_of "$@") - $before) * 1000000 / ($ended - $began)")"
}

asking() { # BALANCER NUMBER
	local out
	# shellcheck disable=SC2046
	out=$(load_until cpu_us_per_request keepalive --connections 50 --to "127.0.0.1:${PORT[$1]}" --warm-ms "$WARM_MS" \
		--measure-ms "$COST_MS" $(cpu_of "$1"))
	note "$1" "request_cpu_us_at_$2" us "$(value cpu_us_per_request <<<"$out")"
}

# prism's second process, which checks; the others have none.
probe_of() { # BALANCER
	pgrep -P "${PID[$1]}" prism-probe || true
}

probe() { # [PID]
	[[ $# -gt 0 ]] || return 0
	sample prism_probe_rss_kib KiB "$(memory_of Rss "$1")"
	sample prism_probe_dirty_kib KiB "$(memory_of Private_Dirty "$1")"
}

# The least that can check an API server by OpenSSL, in the same way: a program that has made one handshake.
tls_alone() {
	local program=$BUILD/bench/handshake pss
	[[ -d $T/lib-handshake ]] || own_libraries handshake "$program"
	: >"$T/handshake"
	LD_LIBRARY_PATH=$T/lib-handshake "$program" "${CHECKED_UPSTREAMS[0]}" "$PKI/cluster-ca.crt" kubernetes \
		<&"$NAP_FD" >"$T/handshake" 2>>"$LOG_DIR/handshake.log" &
	PID[handshake]=$!
	wait_until 10 test -s "$T/handshake"
	wait_until 10 memory_is_steady "${PID[handshake]}"
	pss=$(memory_of Pss "${PID[handshake]}")
	sample prism_tls_alone_pss_kib KiB "$pss"
	sample prism_tls_alone_vs_haproxy x "$(calc "$pss / ${NOTED["haproxy all_pss_kib_at_0"]}")"
	stop handshake
}

connections() { # BALANCER
	local pids all number i name=$1
	say "connections: $name"
	HOLDING=0
	balancer_start "$name" on "${CHECKED_UPSTREAMS[@]}"
	nap "$SETTLE_S"
	mapfile -t pids < <(balancer_pids "$name")
	# The checks' process is one of them.
	mapfile -t all < <(balancer_pids "$name" && probe_of "$name")
	probe "${all[@]:${#pids[@]}}"
	for number in "${HELD[@]}"; do
		hold "$name" "$number"
		wait_until 20 memory_is_steady "${pids[@]}"
		note "$name" "rss_kib_at_$number" KiB "$(memory_of Rss "${pids[@]}")"
		note "$name" "dirty_kib_at_$number" KiB "$(memory_of Private_Dirty "${pids[@]}")"
		note "$name" "all_pss_kib_at_$number" KiB "$(memory_of Pss "${all[@]}")"
		at_rest "$name" "$number" "${all[@]}"
	done
	sample "${name}_bytes_per_idle_connection" B \
		"$(calc "(${NOTED["$name rss_kib_at_$number"]} - ${NOTED["$name rss_kib_at_0"]}) * 1024 / $number")"
	for ((i = ${#HELD[@]} - 1; i >= 0; i--)); do
		asking "$name" "${HELD[i]}"
		[[ $i -eq 0 ]] || release "$name" "${HELD[i]}" "${HELD[i - 1]}"
	done
	balancer_stop "$name"
}
