#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The link over which the operator works becomes a port of a new bond, which takes over its address
# and its default route; and back. The connection lives on both times.
. "$(dirname "$0")/lib.sh"

cables_new 2
far_new far0 bridge -- 1 2
far_address far0 10.1.0.254/24 fd01::254/64

address_and_route() {
	printf '%s\n' 'addresses: [{address: 10.1.0.1/24}, {address: "fd01::1/64"}]' \
		'routes: [{gateway: 10.1.0.254}, {gateway: "fd01::254"}]'
}

bond() { # LINE...
	printf '%s\n' 'apiVersion: v1alpha1' 'kind: BondConfig' 'name: bond' 'links: [p1, p2]' \
		'bondMode: active-backup' 'miimon: 100' "$@"
	address_and_route
}

macs() { # LINK...
	local link
	for link in "$@"; do
		ip -n n1 -j link show "$link" | jq -r '.[0].address'
	done | tr '\n' ' '
}

MACS=$(macs p1 p2)
FIRST=${MACS%% *}

say "a link with the address and the default route"
{
	printf '%s\n' 'apiVersion: v1alpha1' 'kind: LinkConfig' 'name: p1' 'up: true'
	address_and_route
} | config_write link
apply_once link
talk_start 10.1.0.254

say "it becomes a port of a bond"
bond | config_write bond
SSH_CONNECTION='10.1.0.254 40000 10.1.0.1 22' \
	expect_equal "what it costs" "$(class_of bond)" management-path
apply_once bond
expect_equal "ports" "$(ports_of bond)" "p1 p2"
expect_equal "MACs" "$(macs bond p1 p2)" "$FIRST $FIRST $FIRST "
talk_goes_on
expect "the address" grep -q '10.1.0.1/24' <(ip -n n1 -o address show dev bond)
expect_equal "nothing stays on the port" "$(ip -n n1 -o address show to 10.1.0.1 dev p1)" ""
expect_equal "the default route" "$(ip -n n1 -j route show default | jq -r 'map(.dev) | join(" ")')" bond
wait_until 30 reaches fd01::254

say "and back"
apply_once link
talk_goes_on
expect_equal "MACs" "$(macs p1 p2)" "$MACS"
expect_equal "the default route" "$(ip -n n1 -j route show default | jq -r 'map(.dev) | join(" ")')" p1
expect_equal "links" "$(ip -n n1 -j link show | jq -r 'map(.ifname) | sort | join(" ")')" "lo p1 p2"
wait_until 30 reaches fd01::254

say "of a bond whose ports keep their own MAC"
bond 'failOverMac: active' | config_write own
apply_once own
expect_equal "MACs" "$(macs bond p1 p2)" "$FIRST $MACS"
talk_goes_on
