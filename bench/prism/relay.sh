# SPDX-License-Identifier: Apache-2.0
# What relaying costs: CPU time of the balancer for small requests, new connections and bulk, and the
# latency that it adds. Three upstreams, one origin behind them, no checks. A round takes each figure
# once of each balancer, one right after the other and in rotating order, so that whatever the machine
# does in between meets all alike; ratios are of one round.

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
	out=$(load_until "$key" "$@" --to "127.0.0.1:${PORT[$listener]}" --warm-ms "$WARM_MS" --measure-ms "$COST_MS" \
		$(cpu_of "$balancer"))
	COST["$balancer $figure"]=$(value "$key" <<<"$out")
	sample "${listener}_$figure" "$unit" "${COST["$balancer $figure"]}"
	failed=$(value failed <<<"$out")
	[[ $failed -eq 0 ]] || say "$listener: $failed of $figure failed"
	sample "${listener}_failed_under_load" requests "$failed"
}

request_cost() { # BALANCER
	# Before its own figure: that of HAProxy when it splices all, as it is often set up.
	[[ $1 != haproxy ]] ||
		cost haproxy cpu_us_per_request us cpu_us_per_request haproxy_splice keepalive --connections 50
	cost "$1" cpu_us_per_request us cpu_us_per_request "$1" keepalive --connections 50
}

connection_cost() { # BALANCER
	cost "$1" cpu_us_per_connection us cpu_us_per_request "$1" connect --connections 16
}

bulk_cost() { # BALANCER
	local listener=$1 down up
	[[ $1 != haproxy ]] || listener=haproxy_splice
	cost "$1" cpu_us_per_mb_down us/MiB cpu_us_per_mib "$listener" keepalive --connections 4 --response $MIB
	cost "$1" cpu_us_per_mb_up us/MiB cpu_us_per_mib "$listener" keepalive --connections 4 --request $MIB
	down=${COST["$1 cpu_us_per_mb_down"]} up=${COST["$1 cpu_us_per_mb_up"]}
	COST["$1 cpu_us_per_mb"]=$(calc "($down + $up) / 2")
	sample "$1_cpu_us_per_mb" us/MiB "${COST["$1 cpu_us_per_mb"]}"
}

ratios() {
	local balancer figure
	for balancer in "${MEASURED[@]}"; do
		[[ $balancer != haproxy ]] || continue
		for figure in cpu_us_per_{request,connection,mb,mb_down,mb_up}; do
			[[ -n ${COST["$balancer $figure"]:-} && -n ${COST["haproxy $figure"]:-} ]] || continue
			sample "${balancer}_${figure}_vs_haproxy" x \
				"$(calc "${COST["$balancer $figure"]} / ${COST["haproxy $figure"]}")"
		done
	done
}

# Requests a second that HAProxy can do with a CPU to itself: what load is a share of. From its CPU time,
# because who else has the CPU at this moment is not the question.
CAPACITY=
measure_capacity() {
	local us
	us=$(load_until cpu_us_per_request keepalive --connections 50 --measure-ms "$COST_MS" \
		--to "127.0.0.1:${PORT[haproxy]}" --cpu-of "${PID[haproxy]}" | value cpu_us_per_request)
	CAPACITY=$(calc "int(1000000 / $us)")
	sample haproxy_capacity requests/s "$CAPACITY"
}

paced() { # ADDRESS PERCENT
	"${LOAD[@]}" paced --to "$1" --connections 64 --rate $((CAPACITY * $2 / 100)) --warm-ms "$WARM_MS" \
		--measure-ms "$PACED_MS"
}

PERCENTILES=(p50 p99 p999)

declare -A DIRECT
latency() { # PERCENT NAME ADDRESS; what is not direct is also told as what was added
	local percentile out us
	out=$(paced "$3" "$1") || {
		say "$2 cannot keep up at $1 %"
		return 0
	}
	for percentile in "${PERCENTILES[@]}"; do
		us=$(value "${percentile}_us" <<<"$out")
		sample "$2_${percentile}_us_at_$1" us "$us"
		if [[ $2 == direct ]]; then
			DIRECT["$1 $percentile"]=$us
		elif [[ -n ${DIRECT["$1 $percentile"]:-} ]]; then
			sample "$2_added_${percentile}_us_at_$1" us \
				"$(calc "$us - ${DIRECT["$1 $percentile"]}")"
		fi
	done
}

relay_round() { # ROUND
	local kind percent name first=$(($1 % ${#MEASURED[@]})) order
	order=("${MEASURED[@]:first}" "${MEASURED[@]:0:first}")
	COST=() DIRECT=()
	for kind in request connection bulk; do
		say "round $1: CPU time, $kind"
		for name in "${order[@]}"; do
			"${kind}_cost" "$name"
		done
	done
	ratios
	[[ $1 -le $LATENCY_RUNS ]] || return 0
	for percent in "${LOADS[@]}"; do
		say "round $1: latency at $percent %"
		latency "$percent" direct "${RELAY_UPSTREAMS[0]}"
		for name in "${order[@]}"; do
			latency "$percent" "$name" "127.0.0.1:${PORT[$name]}"
		done
	done
}
