#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A change waits to be confirmed, and the machine is suspended until long after the deadline. Awake, it is undone at
# once: by the daemon, which goes on, and where that is stopped or dead by the guard.
# machine: its own
# by hand: two minutes of sleep, in a machine of its own
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/suspend.sh"

CONFIRM_S=20 SLEEP_S=45
# A machine without KVM needs that for the undoing; the deadline by a clock that stood still would be later.
AT_ONCE_MS=8000

has_new_address() {
	ip -n n1 -o address show dev eth1 | has_line -F 'inet 10.2.0.9/24'
}

has_not_new_address() {
	! has_new_address
}

is_over() {
	[[ ! -e $T/state/transaction/state.json ]]
}

# Asleep as soon as it waits; UNDONE_MS after the wake the address is gone.
undone_after_sleep() {
	local woke
	apply new --confirm-within "${CONFIRM_S}s" || fail "it was not applied: $(tail -n 1 "$LOG_DIR/apply.log")"
	expect "it was made" has_new_address
	[[ -z $1 ]] || signal "$1" netconf
	machine_sleeps "$SLEEP_S" "$CONFIRM_S"
	woke=$(uptime_ms)
	wait_until 60 has_not_new_address
	UNDONE_MS=$(($(uptime_ms) - woke))
	wait_until 60 is_over
	[[ $UNDONE_MS -le $AT_ONCE_MS ]] || fail "it was undone $UNDONE_MS ms after the wake, limit $AT_ONCE_MS ms"
}

node_new
mkdir -p "$T/files"
config_write files/net <<'YAML'
apiVersion: v1alpha1
kind: LinkConfig
name: eth1
addresses:
  - address: 10.2.0.1/24
---
apiVersion: fairlead/v1
kind: NetworkPolicyConfig
probes: {duplicates: false}
YAML
sed 's|- address: 10.2.0.1/24|&\n  - address: 10.2.0.9/24|' "$T/files/net.yaml" >"$T/new.yaml"
netconf_start
apply files/net
fairlead n1 net confirm >>"$LOG_DIR/apply.log"
wait_until 30 is_over

say "the machine sleeps for $SLEEP_S s, the change had $CONFIRM_S s"
daemon=${PID[netconf]}
undone_after_sleep ''
say "undone $UNDONE_MS ms after the wake"
expect "the daemon goes on" alive netconf
expect_equal "its process" "${PID[netconf]}" "$daemon"
expect "it did it by itself" log_says netconf 'event=net_phase .*reason="nobody confirmed it in time"'
! log_says netconf 'event=daemon_stuck' || fail "the guard took the daemon for one that hangs"

say "the same with a daemon that was killed: its guard does it"
undone_after_sleep KILL
say "undone $UNDONE_MS ms after the wake"
expect "the old address is there" grep -qF 'inet 10.2.0.1/24' <(ip -n n1 -o address show dev eth1)
