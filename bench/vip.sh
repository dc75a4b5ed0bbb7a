#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Measures what vipd promises, on the machines of the stories (tests/netns): real etcd of three
# members, the observer on the LAN as the clock. Run by bench/run.
#   graceful_*                 `vip move`: nobody answers for so long; two answer for so long
#   killed_*                   kill -9 of vipd: until the kernel took the address away (removal), until
#                              the old owner was last heard (silence), until another answered (takeover)
#   power_loss_*               until another answered: default profile, fast profile (fenceWindow 1.5 s),
#                              and a node that led etcd as well (default profile)
#   idle_*                     what one VIP costs: raft entries a second in etcd; vipd's resident memory,
#                              threads and CPU, owner and standby

# How soon a node that lost its power is forgotten and may come back; no takeover waits for it.
POLICY='leaseTTL: 3s'
. "$(cd "$(dirname "$0")" && pwd)/../tests/netns/lib.sh"

OVERLAP_MS=3600000 # overlaps are a result here, not an end
SAMPLES=$T/samples
RUNS=${RUNS:-5}
IDLE_S=10 GRACEFUL_RUNS=$RUNS
[[ -z $QUICK ]] || RUNS=1 IDLE_S=3 GRACEFUL_RUNS=3

sample() { # NAME UNIT VALUE
	echo "$1 $2 $3" >>"$SAMPLES"
}

# What the observer saw since MARK: --from MARK to now.
sample_wire() { # NAME MARK FIGURE
	sample "$1" ms "$(wire_figure "$3" --from "$2")"
}

# A quiet moment between runs: everybody agrees, and the judge's presence is over.
quiet() {
	wait_until 20 settled
	OWNER=$(holders)
	for_seconds 1 true
}

graceful() {
	quiet
	say "move $1"
	local moving=$STEP
	fairlead "$OWNER" vip move "$VIP" >/dev/null
	wait_until 10 settled_on_other_than "$OWNER"
	sample_wire graceful_gap_ms "$moving" gap_ms
	sample_wire graceful_overlap_ms "$moving" overlap_ms
}

# When the kernel of a node deletes the VIP, to the microsecond (wall clock).
removal_watch() { # NODE
	: >"$LOG_DIR/monitor-$1.log"
	spawn "monitor-$1" "$1" stdbuf -oL ip -ts -oneline monitor address
	wait_until 2 monitor_listens "$1"
}

monitor_listens() { # NODE
	inside "$1" awk -v pid="${PID[monitor-$1]}" \
		'$3 == pid && $4 != "00000000" { found = 1 } END { exit !found }' /proc/net/netlink
}

removed() { # NODE
	grep -q "Deleted.* $VIP/" "$LOG_DIR/monitor-$1.log"
}

removal_us() { # NODE
	local stamp
	stamp=$(sed -n "s/^\[\([^]]*\)\] Deleted.* ${VIP//./\\.}\/.*/\1/p" "$LOG_DIR/monitor-$1.log" | head -n 1)
	date -d "$stamp" +%s%6N
}

killed() {
	quiet
	local node=$OWNER at killing
	removal_watch "$node"
	say "kill -9, $1"
	killing=$STEP
	at=${EPOCHREALTIME/./}
	kill_hard "vipd-$node"
	wait_until 15 settled_on_other_than "$node"
	wait_until 10 removed "$node"
	sample killed_removal_ms ms "$(awk "BEGIN { print ($(removal_us "$node") - $at) / 1000 }")"
	kill_hard "monitor-$node"
	sample_wire killed_silence_ms "$killing" old_last_ms
	sample_wire killed_takeover_ms "$killing" to_new_ms
	sample_wire killed_overlap_ms "$killing" overlap_ms
	vipd_start "$node"
}

power_loss() { # NAME RUN leads|follows
	wait_until 20 settled
	OWNER=$(holders)
	if [[ $3 == leads ]]; then
		etcd_move_leader "$OWNER"
	else
		etcd_move_leader "$(node_other_than "$OWNER")"
	fi
	quiet
	local node=$OWNER
	say "loss of power, $1, $2"
	local off=$STEP
	power_off "$node"
	wait_until 30 settled_on_other_than "$node"
	sample_wire "$1_ms" "$off" to_new_ms
	sample_wire "$1_overlap_ms" "$off" overlap_ms
	power_on "$node"
	etcd_start "$node"
	api_start "$node"
	wait_until 30 etcd_is_healthy
	vipd_start "$node"
}

cpu_ticks() { # NODE
	awk '{ print $14 + $15 }' "/proc/${PID[vipd-$1]}/stat"
}

idle_one() { # NODE ROLE TICKS
	local status=/proc/${PID[vipd-$1]}/status
	sample "idle_$2_rss_kib" KiB "$(awk '/^VmRSS/ { print $2 }' "$status")"
	sample "idle_$2_threads" threads "$(awk '/^Threads/ { print $2 }' "$status")"
	sample "idle_$2_cpu_percent" % "$(awk "BEGIN { print ($(cpu_ticks "$1") - $3) / $IDLE_S }")"
}

idle() {
	quiet
	say "idle for $IDLE_S s"
	local standby before after owner_ticks standby_ticks
	standby=$(node_other_than "$OWNER")
	before=$(etcd_raft_index)
	owner_ticks=$(cpu_ticks "$OWNER")
	standby_ticks=$(cpu_ticks "$standby")
	for_seconds "$IDLE_S" true
	idle_one "$OWNER" owner "$owner_ticks"
	idle_one "$standby" standby "$standby_ticks"
	after=$(etcd_raft_index)
	sample idle_raft_entries_per_s 1/s "$(awk "BEGIN { print ($after - $before) / $IDLE_S }")"
}

repeat() { # COMMAND [NAME]: RUNS times, with the number of the run
	local run
	for ((run = 1; run <= RUNS; run++)); do
		"$@" "$run"
	done
}

power_loss_follows() {
	power_loss "$1" "$2" follows
}

power_loss_leads() {
	power_loss "$1" "$2" leads
}

goals() {
	cat <<-GOALS
		graceful_gap_ms goal max <= 100
		graceful_overlap_ms goal max <= 0
		killed_overlap_ms goal max <= 0
		power_loss_default_ms goal max <= 4000
		power_loss_default_overlap_ms goal max <= 0
		power_loss_fast_ms goal max <= 2000
		power_loss_fast_overlap_ms goal max <= 0
		power_loss_etcd_leader_overlap_ms goal max <= 0
	GOALS
}

cluster_with_owner
idle
RUNS=$GRACEFUL_RUNS repeat graceful
repeat killed
repeat power_loss_follows power_loss_default
repeat power_loss_leads power_loss_etcd_leader

say "the fast profile"
quiet
for node in "${NODES[@]}"; do
	signal TERM "vipd-$node"
	wait_exit 10 "vipd-$node"
done
POLICY+=$'\nfenceWindow: 1500ms'
vipd_start "${NODES[@]}"
repeat power_loss_follows power_loss_fast

goals | cat "$SAMPLES" - | awk -v bench=vip -f "$ROOT/bench/figures.awk" >"$RESULT"
