# SPDX-License-Identifier: Apache-2.0
# What relaying costs: CPU time of the balancer for small requests, new connections and bulk, and the
# latency that it adds. Three upstreams, one origin behind them, no checks. Each round measures each
# balancer once, in rotating order, so that whatever the machine does in between meets all alike;
# ratios are of one round.

RELAY_UPSTREAMS=(127.0.1.1:6443 127.0.1.2:6443 127.0.1.3:6443)
LOADS=(30 60) # percent of what HAProxy can do
MIB=1048576

relay_up() {
	local name
	start origin "$REST_CPU" "$BUILD/bench/origin" "${RELAY_UPSTREAMS[@]}"
	wait_until 5 listens 6443
	for name in "${MEASURED[@]}"; do
		balancer_start "$name" off "${RELAY_UPSTREAMS[@]}"
	done
}

relay_down() {
	local name
	for name in "${MEASURED[@]}"; do
		balancer_stop "$name"
	done
	stop origin
}

# CPU time of one balancer; the figure goes to COST[BALANCER FIGURE] too.
declare -A COST
cost() { # BALANCER FIGURE UNIT KEY LISTENER ARGUMENT...
	local balancer=$1 figure=$2 unit=$3 key=$4 listener=$5 out failed
	shift 5
	# shellcheck disable=SC2046
	out=$("${LOAD[@]}" "$@" --to "127.0.0.1:${PORT[$listener]}" --warm-ms "$WARM_MS" --measure-ms "$COST_MS" \
		$(cpu_of "$balancer"))
	COST["$balancer $figure"]=$(value "$key" <<<"$out")
	sample "${listener}_$figure" "$unit" "${COST["$balancer $figure"]}"
	failed=$(value failed <<<"$out")
	[[ $failed -eq 0 ]] || say "$listener: $failed of $figure failed"
	sample "${listener}_failed_under_load" requests "$failed"
}

costs() { # BALANCER
	local bulk=$1
	# Before its bulk listener: the figure of HAProxy that splices all, as it is often set up.
	[[ $1 != haproxy ]] || {
		bulk=haproxy_splice
		cost haproxy cpu_us_per_request us cpu_us_per_request haproxy_splice keepalive --connections 50
	}
	cost "$1" cpu_us_per_request us cpu_us_per_request "$1" keepalive --connections 50
	cost "$1" cpu_us_per_connection us cpu_us_per_request "$1" connect --connections 16
	cost "$1" cpu_us_per_mb_down us/MiB cpu_us_per_mib "$bulk" keepalive --connections 4 --response $MIB
	cost "$1" cpu_us_per_mb_up us/MiB cpu_us_per_mib "$bulk" keepalive --connections 4 --request $MIB
	COST["$1 cpu_us_per_mb"]=$(calc "(${COST["$1 cpu_us_per_mb_down"]} + ${COST["$1 cpu_us_per_mb_up"]}) / 2")
	sample "$1_cpu_us_per_mb" us/MiB "${COST["$1 cpu_us_per_mb"]}"
}

ratios() {
	local balancer figure
	for balancer in "${MEASURED[@]}"; do
		[[ $balancer != haproxy ]] || continue
		for figure in cpu_us_per_request cpu_us_per_connection cpu_us_per_mb; do
			[[ -n ${COST["$balancer $figure"]:-} && -n ${COST["haproxy $figure"]:-} ]] || continue
			sample "${balancer}_${figure}_vs_haproxy" x \
				"$(calc "${COST["$balancer $figure"]} / ${COST["haproxy $figure"]}")"
		done
	done
}

# Requests a second that HAProxy can do: what load is a share of.
CAPACITY=
measure_capacity() {
	CAPACITY=$("${LOAD[@]}" keepalive --connections 50 --measure-ms "$COST_MS" \
		--to "127.0.0.1:${PORT[haproxy]}" | value rate)
	CAPACITY=${CAPACITY%.*}
	sample haproxy_capacity requests/s "$CAPACITY"
}

paced() { # ADDRESS PERCENT
	"${LOAD[@]}" paced --to "$1" --connections 64 --rate $((CAPACITY * $2 / 100)) --warm-ms "$WARM_MS" \
		--measure-ms "$PACED_MS"
}

PERCENTILES=(p50 p99 p999)

latencies() { # NAME ADDRESS; what is not direct is also told as what was added
	local percent percentile out us
	for percent in "${LOADS[@]}"; do
		out=$(paced "$2" "$percent") || {
			say "$1 cannot keep up at $percent %"
			continue
		}
		for percentile in "${PERCENTILES[@]}"; do
			us=$(value "${percentile}_us" <<<"$out")
			[[ $1 != direct ]] || DIRECT["$percent $percentile"]=$us
			sample "$1_${percentile}_us_at_$percent" us "$us"
			[[ $1 == direct ]] ||
				sample "$1_added_${percentile}_us_at_$percent" us \
					"$(calc "$us - ${DIRECT["$percent $percentile"]}")"
		done
	done
}

declare -A DIRECT
relay_round() { # ROUND
	local i name n=${#MEASURED[@]}
	COST=()
	say "round $1: direct"
	latencies direct "${RELAY_UPSTREAMS[0]}"
	for ((i = 0; i < n; i++)); do
		name=${MEASURED[($1 + i) % n]}
		say "round $1: $name"
		costs "$name"
		latencies "$name" "127.0.0.1:${PORT[$name]}"
	done
	ratios
}
