#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Measures who answers for an address when its owner goes, and how soon: vipd as it comes and with a short
# window, and keepalived with adverts every second and every tenth of one; on the machines of the stories
# (tests/netns): real etcd of three members, the observer on the LAN as the clock. Who terminates TCP counts
# for overlaps: on the server's own port and on two that are translated, for clients that hear of a new
# owner and for those that do not. Each of the four has its address on the same nodes, so that every fault
# is one fault for all: there are no better and worse runs to compare. Run by bench/run. The parts:
#   failover/subjects.sh      the four, and keepalived.conf
#   failover/faults.sh        what happens to the owner, and the figures of it
#   failover/computed.sh      what Talos and kube-vip would need, by their constants
# There is no other bench of vipd: beside the ratios its own promises are goals here.
# From the environment: FAULTS, those to measure; FAST_WINDOW, the window of vipd_fast (1500ms).

# How soon a node that lost its power is forgotten and may come back; no takeover waits for it.
POLICY='leaseTTL: 3s'
. "$(cd "$(dirname "$0")" && pwd)/../tests/netns/lib.sh"
for part in subjects faults computed; do
	# shellcheck source=/dev/null
	. "$ROOT/bench/failover/$part.sh"
done

ON_END=() # two that answer are a result here, not an end
SAMPLES=$LOG_DIR/samples
# Not what each node translates, also without the address: keepalived has nothing against that.
TCP_WATCHED=("${TCP_DIRECT[@]}" "${TCP_PATHS[1]}" "${TCP_PATHS[3]}")
TCP_INTERVAL_MS=100
read -ra WANTED <<<"${FAULTS:-stop move kill freeze cut power power_leader}"
[[ -z $QUICK ]] || {
	RUNS=${RUNS:-1}
	read -ra WANTED <<<"${FAULTS:-freeze power}"
}
RUNS=${RUNS:-5}

sample() { # NAME UNIT VALUE
	echo "$1 $2 $3" >>"$SAMPLES"
}

is_wanted() { # FAULT
	[[ " ${WANTED[*]} " == *" $1 "* ]]
}

settled_each() {
	local subject
	for subject in "${SUBJECTS[@]}"; do
		subject_settled "$subject" || return 1
	done
}

# All four addresses on the node whose turn it is, sets OWNER; and a quiet moment, so that the judge's presences are
# over. By turns, because with keepalived priorities decide how soon the next one comes.
gather() { # RUN
	wait_until 30 settled_each
	OWNER=${NODES[$1 % ${#NODES[@]}]}
	local subject
	for subject in "${SUBJECTS[@]}"; do
		wait_until 30 subject_bring "$subject" "$OWNER"
	done
	quiet
}

# A fault is to hit each moment between two adverts or confirmations as likely as any other.
quiet() {
	nap 1.2
	nap "0.$(printf %03d $((RANDOM % 1000)))"
	wait_until 10 settled_each
}

everybody_up() {
	local subject node
	cluster_up
	tcp_up
	pods_up
	for subject in "${SUBJECTS[@]}"; do
		observe "${ADDRESS[$subject]}"
		observe_tcp "${ADDRESS[$subject]}" "${TCP_WATCHED[@]}"
		# In time however busy the machine is: what it is late is taken off the gaps.
		chrt --fifo --pid 1 "${PID[observer-${ADDRESS[$subject]}]}"
	done
	# The gate of a second vipd on a node is refused where the first one owns the tables.
	nft_is_old
	say "vipd and keepalived start, each twice on all three"
	for subject in "${SUBJECTS[@]}"; do
		for node in "${NODES[@]}"; do
			subject_start "$subject" "$node"
		done
	done
}

# Whom vipd is compared with, and by what both see the world.
versions() {
	keepalived --version 2>&1 | awk 'NR == 1 { sub(/^v/, "", $2); print "keepalived", $2 }'
	"$ETCD_BIN/etcd" --version | sed -n 's/^etcd Version:/etcd/p'
}

# Faults that keepalived gets over without two answering by ARP.
CLEAN=(stop power power_leader)

# What the figures of one run say of each other: both are of the same fault. Beside an overlap a gap says
# nothing: that of a keepalived that does not give the address up is none.
ratios() {
	local fault
	for fault in "${CLEAN[@]}"; do
		ratio "$fault" vipd keepalived
		ratio "$fault" vipd_fast keepalived_fast
		ratio "$fault" vipd_fast keepalived
	done
}

ratio() { # FAULT OURS THEIRS
	awk -v ours="$2_$1_gap_ms" -v theirs="$3_$1_gap_ms" -v name="$2_$1_gap_to_$3" '
		$1 == ours { a[++n] = $3 }
		$1 == theirs { b[++m] = $3 }
		END { for (i = 1; i <= n && i <= m; i++) if (b[i] > 0) print name, "x", a[i] / b[i] }' "$SAMPLES"
}

goals() {
	local subject fault
	for subject in "${VIPDS[@]}"; do
		for fault in "${WANTED[@]}"; do
			echo "${subject}_${fault}_overlap_ms goal max <= 0"
		done
		! is_wanted stop || echo "${subject}_stop_gap_ms goal max <= 100"
	done
	for fault in "${CLEAN[@]}"; do
		! is_wanted "$fault" || echo "vipd_${fault}_gap_to_keepalived goal median <= 1"
	done
	! is_wanted power || echo "vipd_power_gap_ms goal max <= 4000"
	[[ -n ${FAST_WINDOW:-} ]] || ! is_wanted power || echo "vipd_fast_power_gap_ms goal max <= 2000"
}

everybody_up
versions >"$PEERS"
for ((run = 1; run <= RUNS; run++)); do
	for fault in "${WANTED[@]}"; do
		gather "$run"
		"fault_$fault" "$run"
	done
done
! is_wanted power || computed_all
ratios >"$T/ratios"
cat "$T/ratios" >>"$SAMPLES"
{
	awk -v columns="${SUBJECTS[*]} ${COMPUTED[*]}" -f "$ROOT/bench/median.awk" -f "$ROOT/bench/compare.awk" "$SAMPLES"
	goals | cat "$SAMPLES" - | awk -v bench=failover -v table=no -f "$ROOT/bench/figures.awk"
} >"$RESULT"
