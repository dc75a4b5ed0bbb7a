# SPDX-License-Identifier: Apache-2.0
# User memory, with checks on, as it would run: resident and private dirty memory (what no other process
# shares and the kernel cannot drop) of a fresh balancer, and with idle connections that have each
# carried one request.

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

memory() { # BALANCER
	local pids rss dirty probe held hold
	say "memory: $1"
	balancer_start "$1" on "${CHECKED_UPSTREAMS[@]}"
	nap "$SETTLE_S"
	mapfile -t pids < <(balancer_pids "$1")
	wait_until 10 memory_is_steady "${pids[@]}"
	rss=$(memory_of Rss "${pids[@]}")
	dirty=$(memory_of Private_Dirty "${pids[@]}")
	sample "$1_base_rss_kib" KiB "$rss"
	sample "$1_base_dirty_kib" KiB "$dirty"
	probe=$(pgrep -P "${PID[$1]}" prism-probe || true)
	[[ -z $probe ]] || {
		sample "$1_probe_rss_kib" KiB "$(memory_of Rss "$probe")"
		sample "$1_probe_dirty_kib" KiB "$(memory_of Private_Dirty "$probe")"
	}
	coproc HOLD { "${LOAD[@]}" hold --to "127.0.0.1:${PORT[$1]}" --connections "$HELD" --timeout-ms 20000; }
	hold=$HOLD_PID
	read -r _ held <&"${HOLD[0]}" || die "$1 does not hold $HELD connections"
	[[ $held -eq $HELD ]] || die "$1 holds $held of $HELD connections"
	wait_until 10 memory_is_steady "${pids[@]}"
	sample "$1_bytes_per_idle_connection" B \
		"$(calc "($(memory_of Rss "${pids[@]}") - $rss) * 1024 / $HELD")"
	sample "$1_dirty_bytes_per_idle_connection" B \
		"$(calc "($(memory_of Private_Dirty "${pids[@]}") - $dirty) * 1024 / $HELD")"
	sample "$1_rss_kib_at_$HELD" KiB "$(memory_of Rss "${pids[@]}")"
	exec {HOLD[1]}>&-
	wait "$hold" || true
	balancer_stop "$1"
}
