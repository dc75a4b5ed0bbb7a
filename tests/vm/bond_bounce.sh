#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Options for which the kernel wants a bond down, emptied, or both: VLANs on it keep their addresses
# and routes, the routes on the bond come back, other programs' too, and a connection lives on.
. "$(dirname "$0")/lib.sh"

cables_new 4
far_new far0 bridge -- 1 2
far_address far0 10.1.0.254/24 fd01::254/64
far_new far1 bond mode 802.3ad miimon 100 lacp_rate fast -- 3 4
far_address far1 10.2.0.254/24
for far in 0 1; do
	ip -n sw link add link "far$far" name "far$far.5" type vlan id 5
	ip -n sw link set "far$far.5" up
	far_address "far$far.5" "10.$((far + 1)).5.254/24" "fd0$((far + 1)):5::254/64"
done

bond() { # NAME NUMBER PORTS LINE...: with a VLAN
	printf '%s\n' 'apiVersion: v1alpha1' 'kind: BondConfig' "name: $1" "links: [$3]" \
		"addresses: [{address: 10.$2.0.1/24}, {address: \"fd0$2::1/64\"}]" \
		"routes: [{destination: 10.6$2.0.0/16, gateway: 10.$2.0.254}, {destination: \"fd6$2::/64\", gateway: \"fd0$2::254\"}]" \
		"${@:4}" '---' 'apiVersion: v1alpha1' 'kind: VLANConfig' "name: $1.5" "parent: $1" 'vlanID: 5' \
		"addresses: [{address: 10.$2.5.1/24}, {address: \"fd0$2:5::1/64\"}]" \
		"routes: [{destination: 10.7$2.0.0/16, gateway: 10.$2.5.254}, {destination: \"fd7$2::/64\", gateway: \"fd0$2:5::254\"}]" |
		as_kernel_can
}

say "two bonds with a VLAN each, and what others have put on them"
bond lacp 2 'p3, p4' 'bondMode: 802.3ad' 'miimon: 100' 'lacpRate: slow' >"$T/lacp"
bond back 1 'p1, p2' 'bondMode: active-backup' 'miimon: 100' >"$T/back"
cat "$T/lacp" - "$T/back" <<<--- | config_write first
apply_once first
for n in 1 2; do
	wait_until 60 reaches "10.$n.5.254"
	wait_until 60 reaches "fd0$n:5::254"
done
ip -n n1 -batch - <<BATCH
address add 10.1.0.77/32 dev back
address add 10.2.5.77/24 dev lacp.5
route add 10.81.0.0/16 via 10.1.0.254 dev back proto bird metric 20
route add 10.82.0.0/16 via 10.2.0.254 dev lacp proto 99
route add 10.83.0.0/16 via 10.2.5.254 dev lacp.5 proto static mtu 1300
route add fd81::/64 via fd01::254 dev back proto bird metric 20
route add fd83::/64 via fd02:5::254 dev lacp.5 proto static
rule add priority 500 from 10.81.0.0/16 lookup 50
BATCH
network_at_rest >"$LOG_DIR/before"

expect_all_there() {
	expect_equal "routes of VLANs that moved" "$(routes_moved '10\.7[12]\.0\.0/16|10\.83\.0\.0/16|fd7[12]::/64|fd83::/64')" ""
	expect_network "$LOG_DIR/before"
	talk_goes_on
}

bounce() { # NAME CLASS
	witness_anew
	expect_equal "what $1 costs" "$(class_of "$1")" "$2"
	apply_once "$1"
}

say "the bond goes down, and its ports stay"
talk_start 10.2.5.254
witness_start
{
	bond lacp 2 'p3, p4' 'bondMode: 802.3ad' 'miimon: 100' 'lacpRate: fast' 'adLACPActive: "off"' \
		'adSelect: count' 'adUserPortKey: 9'
	echo ---
	cat "$T/back"
} | config_write down
bounce down address-break
expect_options lacp ad_lacp_rate=fast ad_lacp_active=off ad_select=count ad_user_port_key=9
expect "it was down" test -n "$(outages_of lacp)"
expect "and lost a route" test -n "$(routes_moved '10\.82\.0\.0/16')"
expect_equal "the other one was not" "$(outages_of back)" ""
for port in p3 p4; do
	expect_equal "releases of $port" "$(releases_of "$port" lacp)" ""
done
expect_all_there

say "the bond is emptied, and stays up"
kill_hard echo
talk_start 10.1.5.254
{
	cat "$T/lacp"
	echo ---
	bond back 1 'p1, p2' 'bondMode: active-backup' 'miimon: 100' 'failOverMac: active'
} | config_write empty
apply_once first
bounce empty blip
expect_options back fail_over_mac=active
expect_equal "ports" "$(ports_of back)" "p1 p2"
expect "a port left it" test -n "$(releases_of p1 back)"
expect_all_there

say "the mode: down and empty"
{
	cat "$T/lacp"
	echo ---
	bond back 1 'p1, p2' 'bondMode: balance-tlb' 'miimon: 100'
} | config_write mode
bounce mode address-break
expect_options back mode=balance-tlb
expect_equal "ports" "$(ports_of back)" "p1 p2"
expect_equal "the other one" "$(outages_of lacp)" ""
expect_all_there

say "balancing of a bond that is down, and back to where it began"
{
	cat "$T/lacp"
	echo ---
	bond back 1 'p1, p2' 'bondMode: balance-tlb' 'miimon: 100' 'tlbLogicalLb: 0'
} | config_write tlb
bounce tlb address-break
expect_options back tlb_dynamic_lb=0
for port in p1 p2; do
	expect_equal "releases of $port" "$(releases_of "$port" back)" ""
done
expect_all_there
bounce first address-break
expect_all_there
expect_equal "the VLANs are bound as they were" \
	"$(ip -n n1 -d -j link show back.5 | jq -c '.[0].linkinfo.info_data.flags')" '["REORDER_HDR"]'
