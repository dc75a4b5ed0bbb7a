#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Measures what prism costs and promises, side by side with HAProxy (mode tcp) and nginx (stream), all
# in one run. Run by bench/run. The parts:
#   prism/relay.sh    CPU time for requests, connections and bulk; added latency
#   prism/memory.sh   user memory, alone and with 8,000 idle connections
#   prism/faults.sh   failed requests and the longest delay, for each way an upstream can go
# From the environment: BALANCERS, those to measure (default "prism haproxy nginx"); PARTS, what to
# measure (default "relay memory faults").
set -eEuo pipefail

ROOT=$(cd "$(dirname "$0")/.." && pwd)
read -ra MEASURED <<<"${BALANCERS:-prism haproxy nginx}"
read -ra WANTED <<<"${PARTS:-relay memory faults}"
RUNS=${RUNS:-7}
WARM_MS=200 COST_MS=1000 PACED_MS=2000 SETTLE_S=2 FAULT_S=5 READYZ_S=15 PATIENCE_MS=5000
[[ -z $QUICK ]] || {
	RUNS=3
	WARM_MS=50 COST_MS=250 PACED_MS=400 SETTLE_S=0.5 FAULT_S=2 READYZ_S=2 PATIENCE_MS=3000
}
# Memory and faults vary little.
LATENCY_RUNS=$RUNS MEMORY_RUNS=$((RUNS < 3 ? RUNS : 3)) FAULT_RUNS=$((RUNS < 3 ? RUNS : 3))
[[ -z $QUICK ]] || LATENCY_RUNS=1 MEMORY_RUNS=1 FAULT_RUNS=1

for part in world balancers relay memory faults; do
	# shellcheck source=/dev/null
	. "$ROOT/bench/prism/$part.sh"
done
# shellcheck source=/dev/null
. "$ROOT/tests/netns/lib/pki.sh"

goals() {
	cat <<-GOALS
		prism_cpu_us_per_request_vs_haproxy goal median <= 1.0
		prism_cpu_us_per_connection_vs_haproxy goal median <= 1.0
		prism_cpu_us_per_mb_vs_haproxy goal median <= 1.0
		prism_bytes_per_idle_connection goal median <= 512
		prism_rss_kib_at_$HELD goal median <= 8192
		prism_base_rss_kib goal median <= 5120
		prism_faults_failed goal max <= 0
		prism_kill_added_ms goal max <= 300
		prism_blackhole_added_ms goal max <= 300
		prism_failed_under_load goal max <= 0
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

memories() { # ROUND
	local name
	for name in "${MEASURED[@]}"; do
		memory "$name"
	done
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
! is_wanted memory || rounds "$MEMORY_RUNS" memories
! is_wanted faults || rounds "$FAULT_RUNS" faults

{
	awk -v columns="${MEASURED[*]} haproxy_splice direct" -f "$ROOT/bench/compare.awk" "$T/samples"
	goals | cat "$T/samples" - | awk -v bench=prism -v strip=prism_ -v table=no -f "$ROOT/bench/figures.awk"
} >"$RESULT"
