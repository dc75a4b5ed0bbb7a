#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Measures what a network change costs: 10, 100 and 500 links with four addresses and four routes each,
# made by netconf (at boot and as a change that can be undone), by ip(8) and by systemd-networkd in turn; the
# way back; memory; and what an open connection notices of a change of each class. Run by bench/run.
#   links   on the kernel that runs, with veth; state on the disk that the build folder is on
#   bond    VLANs on a bond, as tests/vm has them; state in memory. Not with --quick. Where the processor is
#           emulated, its clock counts its instructions, so that it does not matter what else this machine does
# From the environment: PARTS, what to measure (default "links bond"); LINKS, the sizes.
set -euo pipefail

ROOT=$(cd "$(dirname "$0")/.." && pwd)
read -ra WANTED <<<"${PARTS:-links bond}"
read -ra SIZES <<<"${LINKS:-10 100 500}"
[[ -z $QUICK ]] || RUNS=${RUNS:-1} WANTED=(links) SIZES=(100)
RUNS=${RUNS:-7}
BOND_RUNS=$((RUNS < 2 ? RUNS : 2))
export WORK=$BENCH_DIR/netconf.work
SAMPLES=$BENCH_DIR/netconf.samples

is_wanted() { # PART
	[[ " ${WANTED[*]} " == *" $1 "* ]]
}

# A processor that counts instructions has no milliseconds of anybody's.
goals() { # SHAPE
	local n
	[[ $1 != links ]] || echo "once_links_again_ms_at_100 goal median <= 50"
	for n in "${SIZES[@]}"; do
		grep -q "^networkd_$1_gave_up_at_$n " "$SAMPLES" || cat <<-GOALS
			once_$1_to_networkd_at_$n goal median <= 1
			apply_$1_to_networkd_at_$n goal median <= 1
		GOALS
		cat <<-GOALS
			once_$1_again_writes_at_$n goal max <= 0
			apply_$1_differences_at_$n goal max <= 0
			apply_$1_idle_vmrss_kib_at_$n goal max <= 8192
		GOALS
	done
	cat <<-GOALS
		once_$1_to_ip_at_100 goal median <= 1.5
		apply_$1_to_ip_at_100 goal median <= 1.5
		apply_$1_peak_vmhwm_kib_at_100 goal max <= 8192
		apply_$1_awaiting_vmrss_kib_at_100 goal max <= 8192
		outage_$1_hitless_lost goal max <= 0
	GOALS
}

peers() {
	ip -V | sed 's/.*iproute2-\([0-9.]*\).*/iproute2 \1/'
	/lib/systemd/systemd-networkd --version | awk 'NR == 1 { print "systemd-networkd", $2 }'
}

peers >"$PEERS"
rm -rf "$WORK" "$LOG_DIR"
mkdir -p "$WORK" "$LOG_DIR"
: >"$SAMPLES"
if is_wanted links; then
	LOG_DIR=$LOG_DIR/links "$ROOT/bench/netconf/links.sh" "$RUNS" "${SIZES[@]}"
	cat "$LOG_DIR/links/samples" >>"$SAMPLES"
fi
if is_wanted bond; then
	echo "$BOND_RUNS ${SIZES[*]}" >"$BUILD/bench/netconf.rounds"
	LIMIT=${LIMIT:-3600} "$ROOT/tests/vm/run" --accel kvm-or-own-time bench/netconf/bonds.sh
	cat "$BUILD/tests/vm/bonds/samples" >>"$SAMPLES"
fi
rm -rf "$WORK"
awk -v per=100 -f "$ROOT/bench/median.awk" -f "$ROOT/bench/slope.awk" "$SAMPLES" >"$SAMPLES.slopes"
cat "$SAMPLES.slopes" >>"$SAMPLES"
{
	awk -v columns="once unsynced apply ip networkd outage" -f "$ROOT/bench/median.awk" -f "$ROOT/bench/compare.awk" "$SAMPLES"
	for shape in "${WANTED[@]}"; do
		goals "$shape"
	done | cat "$SAMPLES" - | awk -v bench=netconf -v table=no -f "$ROOT/bench/figures.awk"
} >"$RESULT"
