#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Measures what prism costs and promises, side by side with HAProxy (mode tcp) and nginx (stream), all
# in one run. Run by bench/run. The parts:
#   prism/relay.sh        CPU time for requests, connections and bulk; added latency
#   prism/connections.sh  memory and CPU time, alone and with 100, 1,000 and 8,000 idle connections
#   prism/faults.sh       failed requests and the longest delay, for each way an upstream can go
# From the environment: BALANCERS, those to measure (default "prism haproxy nginx"); PARTS, what to
# measure (default "relay connections faults").
set -eEuo pipefail

ROOT=$(cd "$(dirname "$0")/.." && pwd)
read -ra MEASURED <<<"${BALANCERS:-prism haproxy nginx}"
read -ra WANTED <<<"${PARTS:-relay connections faults}"
HELD=(0 100 1000 8000)
WARM_MS=200 COST_MS=1000 PACED_MS=2000 SETTLE_S=2 IDLE_S=10 FAULT_S=5 READYZ_S=15 PATIENCE_MS=5000
[[ -z $QUICK ]] || {
	RUNS=${RUNS:-2}
	HELD=(0 8000)
	WARM_MS=50 COST_MS=250 PACED_MS=400 SETTLE_S=0.5 IDLE_S=0.5 FAULT_S=2 READYZ_S=2 PATIENCE_MS=2500
}
RUNS=${RUNS:-7}
# Memory and faults vary little.
LATENCY_RUNS=$RUNS HELD_RUNS=$((RUNS < 3 ? RUNS : 3)) FAULT_RUNS=$((RUNS < 3 ? RUNS : 3))
[[ -z $QUICK ]] || LATENCY_RUNS=1 HELD_RUNS=1 FAULT_RUNS=1

# shellcheck source=bench/lib/libraries.sh
. "$ROOT/bench/lib/libraries.sh"
for part in world balancers relay connections faults; do
	# shellcheck source=/dev/null
	. "$ROOT/bench/prism/$part.sh"
done
# shellcheck source=/dev/null
. "$ROOT/tests/netns/lib/pki.sh"

goals() {
	local number
	! is_wanted relay || cat <<-GOALS
		prism_cpu_us_per_request_vs_haproxy goal median <= 1.0
		prism_cpu_us_per_connection_vs_haproxy goal median <= 1.0
		prism_cpu_us_per_mb_vs_haproxy goal median <= 1.0
		prism_cpu_us_per_mb_down_vs_haproxy goal median <= 1.0
		prism_cpu_us_per_mb_up_vs_haproxy goal median <= 1.0
		prism_failed_under_load goal max <= 0
	GOALS
	! is_wanted connections || {
		cat <<-GOALS
			prism_bytes_per_idle_connection goal median <= 512
			prism_rss_kib_at_8000 goal median <= 8192
			prism_rss_kib_at_0 goal median <= 5120
		GOALS
		for number in "${HELD[@]}"; do
			cat <<-GOALS
				prism_rss_at_${number}_vs_haproxy goal median <= 0.25
				prism_all_pss_at_${number}_vs_haproxy goal median <= 0.25
				prism_idle_cpu_at_${number}_vs_haproxy goal median <= 1.0
				prism_request_cpu_at_${number}_vs_haproxy goal median <= 1.0
			GOALS
		done
	}
	! is_wanted faults || cat <<-GOALS
		prism_faults_failed goal max <= 0
		prism_kill_added_ms goal max <= 300
		prism_blackhole_added_ms goal max <= 300
	GOALS
}

is_wanted() { # PART
	[[ " ${WANTED[*]} " == *" $1 "* ]]
}

rounds() { # COUNT COMMAND
	local round
	for ((round = 1; round <= $1; round++)); do
		"$2" "$round"
	done
}

# Of what depends on connections.
slopes() {
	! is_wanted connections ||
		awk '/_(rss|dirty|all_pss|idle_cpu|request_cpu)_.*_at_/' "$T/samples" |
		awk -v per=1000 -f "$ROOT/bench/median.awk" -f "$ROOT/bench/slope.awk"
}

# HAProxy first, with whom the others are compared.
connections_round() { # ROUND
	local name
	NOTED=()
	[[ " ${MEASURED[*]} " != *" haproxy "* ]] || connections haproxy
	for name in "${MEASURED[@]}"; do
		[[ $name == haproxy ]] || connections "$name"
	done
	[[ " ${MEASURED[*]} " != *" haproxy "* ]] || tls_alone
}

peers() {
	haproxy -v | awk 'NR == 1 { sub(/-.*/, "", $3); print "HAProxy", $3 }'
	nginx -v 2>&1 | sed 's|.*nginx/|nginx |'
}

world_enter "$@"
peers >"$PEERS"
PKI=$T/pki
DOING="setting up"
pki_authority cluster-ca
pki_issue api cluster-ca kube-apiserver DNS:kubernetes
if is_wanted relay; then
	relay_up
	measure_capacity
	rounds "$RUNS" relay_round
	relay_down
fi
for number in 1 2 3; do
	origin_start "$number"
done
! is_wanted connections || rounds "$HELD_RUNS" connections_round
! is_wanted faults || rounds "$FAULT_RUNS" faults

slopes >"$T/slopes"
cat "$T/slopes" >>"$T/samples"
{
	awk -v columns="${MEASURED[*]} haproxy_splice direct" -f "$ROOT/bench/median.awk" -f "$ROOT/bench/compare.awk" "$T/samples"
	goals | cat "$T/samples" - | awk -v bench=prism -v strip=prism_ -v table=no -f "$ROOT/bench/figures.awk"
} >"$RESULT"
