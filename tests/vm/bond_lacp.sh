#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# LACP with a switch that takes its time: all ports of a bond are exchanged for others, and the old ones
# stay until the switch sends over the new ones. The bond never loses its carrier nor its partner, and
# a connection over it lives on.
. "$(dirname "$0")/lib.sh"

cables_new 4
far_new far0 bond mode 802.3ad miimon 100 lacp_rate fast -- 1 2
far_address far0 10.1.0.254/24
for i in 3 4; do
	ip -n sw link set "q$i" up
done

lacp() { # PORTS
	printf '%s\n' 'apiVersion: v1alpha1' 'kind: BondConfig' 'name: lacp' "links: [$1]" \
		'bondMode: 802.3ad' 'miimon: 100' 'lacpRate: fast' 'minLinks: 1' \
		'hardwareAddr: 02:00:00:00:00:11' 'addresses: [{address: 10.1.0.1/24}]'
}

# What LACP has come to: partner, ports of the aggregator, and what the ports are doing.
partner_of() {
	ip -n n1 -d -j link show lacp | jq -r '.[0].linkinfo.info_data.ad_info | "\(.partner_mac) \(.num_ports)"'
}

distributing() {
	ip -n n1 -d -j link show master lacp |
		jq -r 'map(select(.linkinfo.info_slave_data | .ad_actor_oper_port_state_str // [] | index("distributing"))) | map(.ifname) | sort | join(" ")'
}

comes_to() { # PORTS
	[[ $(distributing) == "$1" && $(partner_of) == "$SWITCH 2" ]]
}

SWITCH=$(ip -n sw -j link show far0 | jq -r '.[0].address')

say "two ports, over which the switch sends"
lacp 'p1, p2' | config_write first
apply_once first
wait_until 60 comes_to 'p1 p2'
wait_until 30 reaches 10.1.0.254
wait_until 30 is_at_rest
talk_start 10.1.0.254
witness_start

say "two others are there, and the switch will not have them yet: the old ones stay"
lacp 'p3, p4' | config_write second
netconf_once second &
apply=$!
is_port() { # PORT
	[[ " $(ports_of lacp) " == *" $1 "* ]]
}
arrives() { # PORT; NOT_YET: when it was last seen not to be one
	NOT_YET=$NOW NOW=$(now_cs)
	is_port "$1"
}
NOW=$(now_cs)
wait_until 60 arrives p3
# It waits ten seconds for each: what is seen sooner is told by the messages about the old ones.
nap 2
left=$(releases_of p1 lacp && releases_of p2 lacp)
if [[ $(($(now_cs) - NOT_YET)) -lt 900 ]]; then
	expect_equal "ports that left too soon" "$left" ""
else
	echo "this machine is too slow to tell"
fi

say "the switch takes them in: one by one the old ones go"
ip -n sw -batch - <<'BATCH'
link set q3 down
link set q3 master far0
link set q3 up
link set q4 down
link set q4 master far0
link set q4 up
BATCH
wait "$apply" || fail "netconf --once: $(tail -n 1 "$LOG_DIR/netconf-once.log")"
wait_until 60 comes_to 'p3 p4'
expect_equal "ports" "$(ports_of lacp)" "p3 p4"
expect_nothing_left second
expect_equal "outages" "$(outages_of lacp)" ""
talk_goes_on
