#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A VRF with a port, a VLAN and a dummy in it: their routes are in its table; when one leaves and another
# comes, the routes of both change sides; and all that was made goes again.
. "$(dirname "$0")/lib.sh"

cables_new 2
for i in 1 2; do
	ip -n sw link set "q$i" up
	ip -n sw address add "10.$i.0.254/24" dev "q$i"
done
ip -n sw link add link q1 name q1.9 type vlan id 9
ip -n sw link set q1.9 up
ip -n sw address add 10.9.0.254/24 dev q1.9

links() { # PORTS-OF-THE-VRF
	cat <<YAML
apiVersion: v1alpha1
kind: LinkConfig
name: p1
up: true
addresses: [{address: 10.1.0.1/24}]
routes: [{destination: 10.60.0.0/16, gateway: 10.1.0.254, table: 77}]
---
apiVersion: v1alpha1
kind: LinkConfig
name: p2
up: true
addresses: [{address: 10.2.0.1/24}]
---
apiVersion: v1alpha1
kind: VLANConfig
name: p1.9
parent: p1
vlanID: 9
addresses: [{address: 10.9.0.1/24}]
---
apiVersion: v1alpha1
kind: DummyLinkConfig
name: quiet
addresses: [{address: 192.0.2.1/32}, {address: "2001:db8::1/128"}]
---
apiVersion: v1alpha1
kind: VRFConfig
name: blue
links: [$1]
table: 77
YAML
}

say "a VRF of three"
links 'p1, p1.9, quiet' | config_write three
apply_once three
expect_equal "ports" "$(ports_of blue)" "p1 p1.9 quiet"
expect_options blue table=77
expect "addresses" grep -q '2001:db8::1/128' <(ip -n n1 -o address show dev quiet)
expect "the connected route is in it" grep -q '^10.9.0.0/24 dev p1.9' <(ip -n n1 route show table 77)
expect "and the other" grep -q '^10.60.0.0/16 via 10.1.0.254' <(ip -n n1 route show table 77)
expect "and nowhere else" test -z "$(ip -n n1 route show 10.9.0.0/24 table main)"
in_vrf() { # ADDRESS
	inside n1 ip vrf exec blue ping -c 1 -W 1 "$1" || inside n1 ping -I blue -c 1 -W 1 "$1"
}
wait_until 30 in_vrf 10.1.0.254
wait_until 30 in_vrf 10.9.0.254
wait_until 30 reaches 10.2.0.254

say "a second time nothing is written"
monitor_start
netconf_once three
expect_equal "messages of the kernel" "$(monitor_heard)" ""
kill_hard monitor

say "one leaves and another comes"
links 'p1, p2, quiet' | config_write other
apply_once other
expect_equal "ports" "$(ports_of blue)" "p1 p2 quiet"
expect "what left is among all others again" grep -q '^10.9.0.0/24 dev p1.9' <(ip -n n1 route show table main)
expect "what came is not" test -z "$(ip -n n1 route show 10.2.0.0/24 table main)"
wait_until 30 reaches 10.9.0.254
wait_until 30 in_vrf 10.2.0.254

say "all that was made goes"
config_write nothing <<'YAML'
apiVersion: v1alpha1
kind: LinkConfig
name: p1
up: true
YAML
apply_once nothing
expect_equal "links" "$(ip -n n1 -j link show | jq -r 'map(.ifname) | sort | join(" ")')" "lo p1 p2"
