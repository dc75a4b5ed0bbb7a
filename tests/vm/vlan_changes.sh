#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# VLANs on a bond: one in another (802.1ad), an MTU that grows and shrinks through all of them and back,
# an id and a protocol that change, which the kernel cannot do in place.
. "$(dirname "$0")/lib.sh"

cables_new 2
far_new far0 bridge -- 1 2
far_address far0 10.1.0.254/24
ip -n sw -batch - <<'BATCH'
link set q1 mtu 9000
link set q2 mtu 9000
link set far0 mtu 9000
link add link far0 name s100 type vlan protocol 802.1ad id 100
link set s100 up
link add link s100 name c7 type vlan id 7
link set c7 up
link add link far0 name c8 type vlan id 8
link set c8 up
address add 10.7.0.254/24 dev c7
address add 10.8.0.254/24 dev c8
BATCH

vlans() { # MTU-OF-ALL ID PROTOCOL-OF-OUTER
	printf '%s\n' 'apiVersion: v1alpha1' 'kind: BondConfig' 'name: bond' 'links: [p1, p2]' \
		'bondMode: active-backup' 'miimon: 100' "mtu: $1" 'addresses: [{address: 10.1.0.1/24}]' '---' \
		'apiVersion: v1alpha1' 'kind: VLANConfig' 'name: outer' 'parent: bond' 'vlanID: 100' \
		"vlanMode: $3" "mtu: $1" '---' \
		'apiVersion: v1alpha1' 'kind: VLANConfig' 'name: inner' 'parent: outer' "vlanID: $2" "mtu: $1" \
		'addresses: [{address: 10.7.0.1/24}]' 'routes: [{destination: 10.77.0.0/16, gateway: 10.7.0.254}]'
}

mtus() {
	ip -n n1 -j link show | jq -r 'map(select(.ifname == "bond" or .ifname == "outer" or .ifname == "inner")) | map(.mtu) | unique | join(" ")'
}

say "a VLAN in a VLAN"
vlans 1500 7 802.1ad | config_write first
apply_once first
expect_options outer protocol=802.1ad id=100
expect_options inner protocol=802.1Q id=7
wait_until 30 reaches 10.7.0.254
network_at_rest >"$LOG_DIR/before"

say "the MTU grows, parents first"
witness_start 10.7.0.254
vlans 8000 7 802.1ad | config_write jumbo
apply_once jumbo
expect_equal "MTUs" "$(mtus)" 8000
expect_no_outage bond p1 p2
expect "a large packet" inside n1 ping -c 1 -W 10 -M 'do' -s 7900 10.1.0.254 >/dev/null

say "and shrinks, children first: all is as it was"
apply_once first
expect_equal "MTUs" "$(mtus)" 1500
expect_no_outage bond p1 p2
expect_network "$LOG_DIR/before"
witness_end

say "what cannot be is refused, and leaves the rest as it is"
vlans 1500 7 802.1ad | sed '/name: inner/,$s/mtu: 1500/mtu: 4000/' | config_write larger
code=0
netconf_once larger || code=$?
expect "it fails" test "$code" -ne 0
expect_equal "MTUs" "$(mtus)" 1500
wait_until 30 reaches 10.7.0.254

say "another id, another protocol: made anew"
vlans 1500 8 802.1ad | config_write id
expect_equal "what it costs" "$(class_of id)" address-break
apply_once id
expect_options inner protocol=802.1Q id=8
vlans 1500 8 802.1q | config_write protocol
apply_once protocol
expect_options outer protocol=802.1Q id=100
expect_options inner protocol=802.1Q id=8
expect "and has its route" grep -q '^10.77.0.0/16 via 10.7.0.254' <(ip -n n1 route show)
apply_once first
wait_until 30 reaches 10.7.0.254
