#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# netconf is killed in the middle of a change, before each of its steps and while it probes: its guard
# brings the old network back, with what others did meanwhile. Killed together with its guard, the next one does.
# Killed while a confirmation is awaited, the next one takes it, or the guard undoes it in time.
. "$(dirname "$0")/lib-netconf.sh"

NETCONF_DAEMON=$BUILD/tests/fault/netconf-dies
export NETCONF_DIE=$T/die NETCONF_GUARD_LOCK=$T/state/guard.lock

node_new
mkdir -p "$T/files"

config_write old <<'YAML'
apiVersion: v1alpha1
kind: LinkConfig
name: eth0
mtu: 1500
addresses:
  - address: 10.1.0.1/24
routes:
  - gateway: 10.1.0.254
---
apiVersion: v1alpha1
kind: LinkConfig
name: eth1
addresses:
  - address: 10.2.0.1/24
---
# Which other host has an address is not what this is about.
apiVersion: fairlead/v1
kind: NetworkPolicyConfig
probes:
  duplicates: false
YAML

config_write new <<'YAML'
apiVersion: v1alpha1
kind: LinkConfig
name: eth0
mtu: 1300
addresses:
  - address: 10.1.0.2/24
routes:
  - gateway: 10.1.0.254
    metric: 7
---
apiVersion: v1alpha1
kind: BridgeConfig
name: br0
links: [eth1]
addresses:
  - address: 10.2.0.7/24
---
apiVersion: v1alpha1
kind: RoutingRuleConfig
name: "1000"
src: 10.1.0.0/24
table: 100
---
# Whoever is killed while it probes is not undone by the deadline of that.
apiVersion: fairlead/v1
kind: NetworkPolicyConfig
probes:
  timeout: 5m
  duplicates: false
YAML

is_over() {
	[[ ! -e $T/state/transaction/state.json ]]
}

all_is_before() {
	wait_until 20 is_before
	wait_until 10 reaches 10.1.0.254
}

# netconf dies, and the operator's program with it.
looks_on_no_more() { # PID
	wait_until 20 gone netconf
	kill -KILL "$1"
	wait "$1" 2>/dev/null || true
	wait "${PID[netconf]}" 2>/dev/null || true
}

netconf_start
apply old
fairlead n1 net confirm >/dev/null
ip -n n1 route add 10.77.0.0/16 via 10.1.0.254 proto bird
ip -n n1 address add 10.1.0.99/32 dev eth0
network >"$LOG_DIR/before"

steps=$(netconf --plan --json --config "$T/new.yaml" --state-dir "$T/state" | jq -rs 'last.steps')
expect "there are steps to die before" test "$steps" -ge 10
for step in $(seq "$steps") probes; do
	say "killed, before '$step': the guard undoes it"
	echo "$step" >"$NETCONF_DIE"
	: >"$LOG_DIR/apply.log"
	inside n1 timeout 60 "$FAIRLEAD" --runtime-dir "$T/run-n1" net apply "$T/new.yaml" >>"$LOG_DIR/apply.log" 2>&1 &
	operator=$!
	# The answer goes out before the first step.
	wait_until 20 gone netconf
	wait_until 20 has_line prepared "$LOG_DIR/apply.log"
	looks_on_no_more "$operator"
	wait_until 20 is_over
	wait_until 10 nobody_guards
	all_is_before
	netconf_start
	expect "it says so" status_is .last.reason "netconf ended in the middle of it"
	expect "all could be undone" status_is .last.left_undone ""
done

for step in 6 probes; do
	say "killed together with its guard, before '$step': the next one undoes it at once"
	echo "$step all" >"$NETCONF_DIE"
	apply new &
	looks_on_no_more $!
	expect "nobody has undone it" test -e "$T/state/transaction/state.json"
	netconf_start
	wait_until 20 is_over
	all_is_before
done

say "killed while it undoes: the guard goes on with that; with its guard, the next one does"
for how in 3 "2 all"; do
	apply new
	echo "$how" >"$NETCONF_DIE"
	fairlead n1 net rollback >/dev/null 2>&1 &
	looks_on_no_more $!
	[[ $how == 3 ]] || netconf_start
	wait_until 20 is_over
	wait_until 10 nobody_guards
	all_is_before
	alive netconf || netconf_start
	expect "all could be undone" status_is .last.left_undone ""
done

say "the guard is killed: there is another at once"
apply new
guard=$(guard_pid)
kill -KILL "$guard"
new_guard() {
	[[ -n $(guard_pid) && $(guard_pid) != "$guard" ]]
}
wait_until 10 new_guard

say "killed while a confirmation is awaited: another one takes it"
kill_hard netconf
netconf_start
expect "it still waits" status_is .change.phase awaiting
wait_until 10 reaches 10.1.0.254
fairlead n1 net confirm >/dev/null
expect "it is confirmed" status_is .last.how confirmed
expect "the new network stays" grep -q 10.2.0.7/24 <(ip -n n1 -o address show dev br0)
wait_until 10 nobody_guards

say "back to the old one, which is confirmed"
apply old
fairlead n1 net confirm >/dev/null
expect "all is as before" is_before

say "the operator's session and netconf's are killed while a confirmation is awaited, and nobody comes: the guard undoes it"
kill_hard netconf
# A session each, as sshd and systemd give them.
printf '#!/bin/sh\nexec setsid "%s" "$@"\n' "$NETCONF_DAEMON" >"$T/in-session"
chmod 755 "$T/in-session"
NETCONF_DAEMON=$T/in-session
netconf_start
spawn login n1 setsid "$BASH" -c '"$@"; exec sleep 1000' - \
	"$FAIRLEAD" --runtime-dir "$T/run-n1" net apply --confirm-within 10s "$T/new.yaml"
wait_until 20 status_is .change.phase awaiting
session_of() { # PID
	ps -o sid= -p "$1" | tr -d ' '
}
sessions="$(session_of "${PID[login]}"),$(session_of "${PID[netconf]}")"
expect_equal "their sessions" "$sessions" "${PID[login]},${PID[netconf]}"
pkill -HUP -s "$sessions"
pkill -KILL -s "$sessions"
wait_until 10 gone login
wait_until 10 gone netconf
expect "the new network is there" grep -q 10.2.0.7/24 <(ip -n n1 -o address show dev br0)
wait_until 30 is_over
all_is_before
