#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The owner's machine is suspended for longer than its window, so that another node has the address by the time it
# wakes: here nobody is told, as etcd is stopped, which looks the same to vipd. vipd shuts the gate as soon as
# processes run. If it is stopped (SIGSTOP) as well, there is the kernel's fence alone, whose clock stood still: it
# answers for what was left of the window. If vipd was stopped in good order before, nobody answers.
# machine: its own
# by hand: two minutes of sleep, in a machine of its own
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/suspend.sh"

VIPD=${VIPD:-$BUILD/bin/vipd}
VIP=192.0.2.10
# As emulation needs it.
WINDOW_MS=10000 LATE_MS=60
SLEEP_S=25
# What such a machine may take to run a process that is due; a tenth of the window.
AT_ONCE_MS=1000
WIRE=$LOG_DIR/wire.log
FROM=0 # lines of it that are of something earlier

lan_new() {
	local ns
	for ns in n1 obs; do
		ip netns add "$ns"
		ip -n "$ns" link set lo up
	done
	ip -n n1 link add eth0 type veth peer name eth0 netns obs
	ip -n n1 address add 192.0.2.1/24 dev eth0
	ip -n n1 link set eth0 up
	ip -n obs address add 192.0.2.2/24 dev eth0
	ip -n obs link set eth0 up
}

observe() {
	mkfifo "$T/marks"
	nsenter --net=/run/netns/obs -- "$BUILD/tests/tools/observer" --link eth0 --address "$VIP" --interval 50 \
		--log "$WIRE" <"$T/marks" 2>>"$LOG_DIR/observer.log" &
	PID[observer]=$!
	exec {MARKS_FD}>"$T/marks"
	wait_until 30 grep -q asking "$WIRE"
}

vipd_begins() {
	spawn vipd-n1 n1 "$VIPD" --config "$T/vipd.yaml" --runtime-dir "$T/run-n1"
	wait_until 60 is_owner
	wait_until 60 is_heard
}

is_owner() {
	[[ $(fairlead n1 -o json vip status 2>/dev/null | jq -r .state) == owner ]]
}

# From now on.
wire_anew() {
	FROM=$(wc -l <"$WIRE")
}

# Somebody answers now.
is_heard() {
	awk '{ now = $1 } $2 == "answer" { last = $1 } END { exit !(last && now - last < 500000) }' "$WIRE"
}

# Nobody has been heard for a second, in which it was asked.
is_silent() {
	awk -v us=1000000 '{ now = $1 } $2 == "answer" { last = $1 } $2 == "asking" { asking = $1 }
		END { exit !(now - last > us && asking - last > us) }' "$WIRE"
}

# For how long somebody answered after the sleep: from the first line behind the longest pause, which nobody
# wrote in, to the last answer, in ms. In SLEPT_MS, how long the pause was.
answered_ms() {
	read -r SLEPT_MS ANSWERED_MS < <(awk -v from="$FROM" 'NR <= from { next }
		last && $1 - last > most { most = $1 - last; woke = $1; heard = woke }
		$2 == "answer" { heard = $1 }
		{ last = $1 }
		END { printf "%d %d\n", most / 1000, (heard - woke) / 1000 }' "$WIRE")
}

# etcd is stopped, and the machine sleeps at once: a window's worth would be over else.
sleep_unheard() { # WHAT
	wire_anew
	wait_until 30 is_heard
	signal STOP etcd-n1
	[[ -z $1 ]] || signal "$1" vipd-n1
	machine_sleeps "$SLEEP_S" $((WINDOW_MS / 1000 + 2))
	wait_until 30 is_silent
	answered_ms
	[[ $SLEPT_MS -gt $((WINDOW_MS + LATE_MS)) ]] || fail "the observer was away for $SLEPT_MS ms only"
}

lan_new
mkdir -p "$T/run-n1"
cat >"$T/vipd.yaml" <<YAML
apiVersion: fairlead/v1
kind: NodeConfig
name: n1
---
apiVersion: fairlead/v1
kind: EtcdClientConfig
endpoints: [http://127.0.0.1:2379]
callTimeout: 10s
hedgeDelay: 5s
---
apiVersion: v1alpha1
kind: Layer2VIPConfig
name: $VIP
link: eth0
---
apiVersion: fairlead/v1
kind: VIPPolicyConfig
fenceWindow: ${WINDOW_MS}ms
healthCheck: {enabled: false}
YAML
spawn etcd-n1 n1 etcd --data-dir "$T/etcd" --log-level error
observe
vipd_begins

say "the owner sleeps for $SLEEP_S s"
sleep_unheard ''
say "awake, it answered for $ANSWERED_MS ms, of a sleep of $SLEPT_MS ms"
[[ $ANSWERED_MS -le $AT_ONCE_MS ]] || fail "it answered for $ANSWERED_MS ms, limit $AT_ONCE_MS ms"
expect "vipd runs" alive vipd-n1

say "etcd answers again: nobody took it, and it is back"
signal CONT etcd-n1
wait_until 60 is_heard
wait_until 60 is_owner

say "it sleeps with a vipd that is stopped: the kernel's fence alone ends it, and counts no sleep"
sleep_unheard STOP
say "awake, it answered for $ANSWERED_MS ms, of a sleep of $SLEPT_MS ms"
[[ $ANSWERED_MS -le $((WINDOW_MS + LATE_MS)) ]] || fail "it answered for $ANSWERED_MS ms, window $WINDOW_MS ms"
signal CONT vipd-n1
signal CONT etcd-n1
wait_until 60 is_heard
wait_until 60 is_owner

say "vipd ends before the sleep, as fairlead-vipd-sleep.service has it: nobody answers at all"
signal TERM vipd-n1
wait_exit 60 vipd-n1
wait_until 30 is_silent
wire_anew
machine_sleeps "$SLEEP_S" $((WINDOW_MS / 1000 + 2))
wait_until 30 is_silent
expect_equal "answers" "$(tail -n "+$((FROM + 1))" "$WIRE" | grep -c ' answer' || true)" 0
vipd_begins
