#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The same over IPv6 alone, on both sides: nothing listens on IPv4 and no upstream has such an address.
. "$(dirname "$0")/lib-prism.sh"

PRISM_LISTEN="[::1]:7445"
PRISM_CLIENTS="--to [::1]:7445"
PRISM_UPSTREAMS="[fd86::11]:6443 [fd86::12]:6443 [fd86::13]:6443"

upstream_of() { # NODE FILTER
	upstream "[fd86::${NUMBER[$1]}]:6443" "$2"
}

lan_with_servers
for host in cl "${NODES[@]}"; do
	ip -n "$host" -4 address flush dev eth0
done
api_up
prism_start
wait_until 5 all_ready
client_start open open --rate 20 $ASK_VERSION
for_seconds 1 true

say "one is killed, packets to another one vanish"
api_stop n1
blackhole n2 all
for_seconds 2 alive client-open
client_stop open
expect_all_well open 50 cut
expect_at_most "requests that were cut" "$(client_figure open .failures.cut)" 2
wait_until 10 states_are n1=down 'n2=down|hung' n3=ready
