#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Measures what it costs a control-plane node that fairlead is there, while nothing happens: the four
# daemons with their helpers, as their units run them, and then in their place what people use:
# keepalived, haproxy and a cron job with etcdctl. The node is n1 of a real etcd of three members with
# mutual TLS and of three API servers; the other two run nothing else, so n1 owns the VIP. Run by bench/run.
#   cost/gauges.sh  how it is measured: memory, CPU time, packets, requests to etcd
#   cost/ours.sh    the daemons; cost/peers.sh  the others, with their configurations
# The daemons are started one after the other, so that what etcd is asked can be told apart.

# shellcheck source=tests/netns/lib/begin.sh
. "$(cd "$(dirname "$0")" && pwd)/../tests/netns/lib/begin.sh"
VIP=10.86.0.100 POLICY= T=/run/story
NODES=(n1 n2 n3)
use world topology pki etcd api vipd prism etcdwatch
# shellcheck source=bench/lib/libraries.sh
. "$ROOT/bench/lib/libraries.sh"
for part in gauges ours peers; do
	# shellcheck source=/dev/null
	. "$ROOT/bench/cost/$part.sh"
done

SETTLE_S=2 STAGE_S=12 IDLE_S=60
[[ -z $QUICK ]] || RUNS=${RUNS:-1} SETTLE_S=0 STAGE_S=1 IDLE_S=2
RUNS=${RUNS:-3}

# 60 MB, of a million bytes each.
goals() {
	echo "together_pss_kib goal max <= 58593"
}

# Whom it is compared with.
versions() {
	keepalived --version 2>&1 | awk 'NR == 1 { sub(/^v/, "", $2); print "keepalived", $2 }'
	haproxy -v | awk 'NR == 1 { sub(/-.*/, "", $3); print "HAProxy", $3 }'
	dpkg-query -W -f 'cron ${Version}\n' cron
	etcdctl version | sed -n 's/^etcdctl version:/etcdctl/p'
}

world_enter "$@"
versions >"$PEERS"
SAMPLES=$T/samples
say "three nodes with etcd and API servers"
lan_up
pki_up
etcd_up
# Whoever is asked more than others answers more: the leader is not on the node that is measured.
etcd_move_leader n2
api_up
gauges_begin
own_libraries ours "$BUILD"/bin/{vipd,prism,prism-probe,etcdwatch,etcdwatch-worker,netconf}
own_libraries peers "$(type -P keepalived)" "$(type -P haproxy)" "$(type -P cron)"
for ((run = 1; run <= RUNS; run++)); do
	say "round $run of $RUNS: etcd alone"
	etcd_rates_alone "$STAGE_S"
	ours
	peers
done

{
	awk -v columns="${OURS[*]} together ${THEIRS[*]} peers" -f "$ROOT/bench/median.awk" -f "$ROOT/bench/compare.awk" "$SAMPLES"
	goals | cat "$SAMPLES" - | awk -v bench=cost -v table=no -f "$ROOT/bench/figures.awk"
} >"$RESULT"
