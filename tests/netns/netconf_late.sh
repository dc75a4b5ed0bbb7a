#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# NICs that come late. The boot does all that does not need them, waits for them a while, and takes them
# in; what comes later still, or goes and comes back, the daemon takes in, and nobody else notices.
. "$(dirname "$0")/lib-netconf.sh"

node_new
mkdir -p "$T/files"
cat >"$T/files/net.yaml" <<'YAML'
apiVersion: v1alpha1
kind: LinkConfig
name: eth0
addresses:
  - address: 10.1.0.1/24
---
apiVersion: v1alpha1
kind: BridgeConfig
name: br0
links: [eth1, eth8, eth9]
addresses:
  - address: 10.2.0.1/24
---
apiVersion: v1alpha1
kind: LinkConfig
name: eth7
mtu: 1400
addresses:
  - address: 10.7.0.1/24
routes:
  - destination: 10.99.0.0/16
    gateway: 10.7.0.254
YAML

nic_comes() { # NUMBER
	ip -n n1 link add "eth$1" type veth peer name "far$1" netns sw
	ip -n sw link set "far$1" up
}

nic_goes() { # NUMBER
	ip -n n1 link delete "eth$1"
}

has() { # TEXT COMMAND...: `ip` says it
	local text=$1
	shift
	grep -qF "$text" <(ip -n n1 "$@")
}

is_ready() {
	grep -q READY=1 "$LOG_DIR/notify.log"
}

spawn notify n1 socat -u "UNIX-RECV:$T/notify" -
wait_until 10 test -S "$T/notify"

say "the boot: what is there is done, and the rest is waited for"
spawn boot n1 env NOTIFY_SOCKET="$T/notify" "$NETCONF" --once --config "$T/files" --state-dir "$T/state"
wait_until 20 has "inet 10.1.0.1/24" -o address show dev eth0
wait_until 20 has "eth1@" link show master br0
wait_until 20 log_says boot "event=applied"
expect "it waits" alive boot
expect_equal "what the service manager was told without eth7" "$(cat "$LOG_DIR/notify.log")" ""

say "the NIC comes that is needed, and the machine may go on"
nic_comes 7
wait_until 20 has "10.99.0.0/16 via 10.7.0.254 dev eth7" route show
wait_until 20 is_ready
expect "it waits for the ports" alive boot

say "the ports come"
nic_comes 9
wait_until 20 has "eth9@" link show master br0
nic_comes 8
code=0
wait "${PID[boot]}" || code=$?
expect_equal "the exit code" "$code" 0
expect "the last one is a port" has "eth8@" link show master br0
expect "it is the confirmed one" test -e "$T/state/confirmed/config.yaml"

say "one does not come: the boot ends nevertheless"
nic_goes 8
netconf --once --wait 1s --config "$T/files" --state-dir "$T/state" >>"$LOG_DIR/boot.log" 2>&1
expect "it says so" log_says boot "wait_over missing=1"

say "it comes later: the daemon takes it in, and nobody else notices"
netconf_start
wait_until 20 status_is .drift.waiting 1
monitor_start
nic_comes 8
wait_until 20 has "eth8@" link show master br0
wait_until 20 status_is .drift.state none
expect_equal "what others saw" "$(monitor_heard | grep -E 'eth0|eth1|eth7|eth9|10\.' || true)" ""

say "they go, and come back"
nic_goes 7
nic_goes 9
wait_until 20 status_is .drift.waiting 4
nic_comes 7
nic_comes 9
wait_until 20 has "10.99.0.0/16 via 10.7.0.254 dev eth7" route show
wait_until 20 has "eth9@" link show master br0
expect "the MTU" has "mtu 1400" link show eth7
wait_until 20 status_is .drift.state none

say "two documents turn out to mean one device: whoever waits for the daemon waits no longer"
signal TERM netconf
wait_exit 20 netconf
cat >"$T/state/confirmed/config.yaml" <<'YAML'
apiVersion: v1alpha1
kind: LinkConfig
name: way
mtu: 1400
---
apiVersion: v1alpha1
kind: LinkConfig
name: eth0
mtu: 1300
---
apiVersion: v1alpha1
kind: DHCPv4Config
name: eth0
YAML
ip -n n1 link property add dev eth0 altname way
: >"$LOG_DIR/notify.log"
NOTIFY_SOCKET="$T/notify" netconf_start
wait_until 20 is_ready
expect "it says why" log_says netconf "event=net_ambiguous"

say "they mean two, and then one again: nobody says any more that it is as it was confirmed"
is_compared() {
	! status_is .drift.state off
}
not_compared() {
	status_is .drift.state off
}
ip -n n1 link property del dev eth0 altname way
wait_until 30 is_compared
ip -n n1 link property add dev eth0 altname way
wait_until 30 not_compared
