#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A hundred VLANs on one bond, each with addresses and a route: made, changed through a mode of the
# bond without losing one, and taken away.
. "$(dirname "$0")/lib.sh"

N=100
cables_new 2
far_new far0 bridge -- 1 2
far_address far0 10.1.0.254/24

hundred() { # MODE
	local i
	printf '%s\n' 'apiVersion: v1alpha1' 'kind: BondConfig' 'name: bond' 'links: [p1, p2]' \
		"bondMode: $1" 'miimon: 100' 'addresses: [{address: 10.1.0.1/24}]'
	for ((i = 1; i <= N; i++)); do
		printf '%s\n' --- 'apiVersion: v1alpha1' 'kind: VLANConfig' "name: bond.$i" 'parent: bond' "vlanID: $i" \
			"addresses: [{address: 10.20.$i.1/24}, {address: \"fd20:$i::1/64\"}]" \
			"routes: [{destination: 10.120.$i.0/24, gateway: 10.20.$i.254}, {destination: \"fd21:$i::/64\", gateway: \"fd20:$i::254\"}]"
	done
}

counted() { # objects that are ours
	echo "$(ip -n n1 -o link show type vlan | grep -c ,UP) links" \
		"$(ip -n n1 -o address show | grep -cE ' (10|fd)[0-9a-f]*[.:]') addresses" \
		"$(ip -n n1 route show proto 242 | wc -l) and $(ip -n n1 -6 route show proto 242 | wc -l) routes"
}

say "a hundred VLANs"
hundred active-backup | config_write first
apply_once first
expect_equal "there are" "$(counted)" "$N links $((2 * N + 1)) addresses $N and $N routes"
network_at_rest >"$LOG_DIR/before"

say "a second time nothing is written"
monitor_start
netconf_once first
expect_equal "messages of the kernel" "$(monitor_heard)" ""
kill_hard monitor

say "the bond gets another mode: not one address, not one route is lost, if only for a moment"
witness_start
hundred balance-tlb | config_write mode
apply_once mode
expect_options bond mode=balance-tlb
expect "the bond was down" test -n "$(outages_of bond)"
expect_equal "routes that moved" "$(routes_moved '(10\.1?20\.|fd2[01]:)[^ ]*')" ""
kill_hard links
expect_network "$LOG_DIR/before"

say "and they go"
N=1
hundred balance-tlb | config_write one
apply_once one
expect_equal "there are" "$(counted)" "1 links 3 addresses 1 and 1 routes"
