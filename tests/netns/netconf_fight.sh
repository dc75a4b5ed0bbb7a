#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Another program deletes one route whenever it is there. netconf leaves that route alone, and it alone:
# an address comes back, and a late NIC is taken in. The pauses grow; when the other program stops, the
# route comes back by itself.
. "$(dirname "$0")/lib-netconf.sh"

node_new
mkdir -p "$T/files"
config_write net <<'YAML'
apiVersion: v1alpha1
kind: LinkConfig
name: eth0
addresses:
  - address: 10.1.0.1/24
routes:
  - gateway: 10.1.0.254
  - destination: 10.50.0.0/16
    gateway: 10.1.0.254
---
apiVersion: v1alpha1
kind: LinkConfig
name: eth1
addresses:
  - address: 10.2.0.1/24
---
apiVersion: v1alpha1
kind: LinkConfig
name: eth7
up: true
addresses:
  - address: 10.7.0.1/24
YAML
netconf_start
apply net
fairlead n1 net confirm
wait_until 10 status_is .drift.state none

has() { # TEXT COMMAND...: `ip` says it
	local text=$1
	shift
	grep -qF "$text" <(ip -n n1 "$@")
}

delete_again_and_again() { # WHAT...: whenever it is there
	while :; do
		ip -n n1 "$@" 2>/dev/null || true
		nap 0.1
	done
}

# While something is left alone, what netconf says of that.
is_left_alone() {
	fairlead n1 -o json net status >"$T/status"
	jq -e '.drift.state == "fight" and (.drift.left_alone | length) > 0' "$T/status"
}

left() { # JQ-FILTER
	jq -r ".drift.left_alone[] | $1" "$T/status"
}

nothing_is_left_alone() {
	status_is '.drift.left_alone | length' 0
}

says_left_alone() { # STEP: to people
	grep -q "left alone: $1" <(fairlead n1 net status)
}

say "a program deletes a route whenever it is there"
delete_again_and_again route delete 10.50.0.0/16 &
other=$!
wait_until 20 is_left_alone
expect_equal "what is left alone" "$(left .step)" "add route 10.50.0.0/16 via 10.1.0.254 dev eth0 metric 1024"
expect "since when" test "$(left '.since_s | floor')" -gt 1700000000
expect "the first pause is of seconds" test "$(left '.next_s | floor')" -le 10
expect "against whom" grep -qE '^pid [0-9]+' <(left .by)
wait_until 20 says_left_alone "add route 10.50.0.0/16"

say "all else is repaired meanwhile"
ip -n n1 address delete 10.2.0.1/24 dev eth1
ip -n n1 link add eth7 type veth peer name other7
wait_until 5 has "inet 10.2.0.1/24" -o address show dev eth1
wait_until 5 has "inet 10.7.0.1/24" -o address show dev eth7

say "it is tried again, and the next pause is longer"
wait_until 20 log_says netconf "left alone for 20 s"

say "the other program has stopped: the route comes back by itself"
kill "$other"
wait "$other" || true
wait_until 30 has "10.50.0.0/16 via 10.1.0.254" route show
wait_until 10 status_is .drift.state none
expect "no more is left alone" nothing_is_left_alone

say "an address is deleted whenever it is there: what needs it waits with it, all else does not"
delete_again_and_again address delete 10.1.0.1/24 dev eth0 &
other=$!
wait_until 20 is_left_alone
expect_equal "what is left alone" "$(left .step)" "add address 10.1.0.1/24 dev eth0"
kill "$other"
wait "$other" || true
ip -n n1 address delete 10.7.0.1/24 dev eth7
wait_until 5 has "inet 10.7.0.1/24" -o address show dev eth7
wait_until 40 has "10.50.0.0/16 via 10.1.0.254" route show
wait_until 10 has "default via 10.1.0.254" route show
wait_until 10 status_is .drift.state none
