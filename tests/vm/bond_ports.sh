#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Ports that come, go and change sides: a primary that is not there tears nothing down, and is taken
# in when it comes; two bonds swap ports in one go, and neither is without one.
. "$(dirname "$0")/lib.sh"

cables_new 4
far_new far0 bridge -- 1 2 3 4
far_address far0 10.1.0.254/24
far_address far0 10.2.0.254/24

bonds() { # PORTS PRIMARY PORTS
	printf '%s\n' 'apiVersion: v1alpha1' 'kind: BondConfig' 'name: one' "links: [$1]" \
		'bondMode: active-backup' 'miimon: 100' "primary: $2" 'addresses: [{address: 10.1.0.1/24}]' \
		'---' 'apiVersion: v1alpha1' 'kind: BondConfig' 'name: two' "links: [$3]" \
		'bondMode: active-backup' 'miimon: 100' 'minLinks: 1' 'addresses: [{address: 10.2.0.1/24}]'
}

say "the primary is absent"
bonds 'p1, p2' p1 'p3, p4' | config_write whole
ip -n n1 link set p1 netns sw
netconf_once whole
expect "it says so" log_says netconf-once "waiting.*'p1'"
expect_equal "ports" "$(ports_of one), $(ports_of two)" "p2, p3 p4"
wait_until 30 reaches 10.1.0.254
wait_until 30 reaches 10.2.0.254
wait_until 30 is_at_rest

say "a second time nothing is torn down"
monitor_start
netconf_once whole
expect_equal "messages of the kernel" "$(monitor_heard)" ""
kill_hard monitor

say "it appears, and the daemon takes it in"
is_active() { # BOND PORT
	[[ $(options_of "$1" active_slave) == "active_slave=$2" ]]
}
mkdir -p "$T/files"
cp -r "$T/once-whole" "$T/state"
netconf_start
wait_until 30 status_is .drift.waiting 2
witness_start 10.1.0.254
ip -n sw link set p1 netns n1
wait_until 30 is_active one p1
expect_equal "ports" "$(ports_of one)" "p1 p2"
expect_options one primary=p1
wait_until 30 status_is .drift.state none
# An answer that is on its way to the old one then may be lost.
expect_equal "outages" "$(outages_of one)$(outages_of p2)" ""
expect_equal "releases of p2" "$(releases_of p2 one)" ""
witness_end

say "another one goes, and comes back"
witness_start 10.1.0.254
ip -n n1 link set p2 netns sw
wait_until 30 status_is .drift.waiting 1
ip -n sw link set p2 netns n1
wait_until 30 status_is .drift.state none
expect_equal "ports" "$(ports_of one)" "p1 p2"
expect_no_outage one p1
kill_hard netconf

say "two ports change sides in one go"
witness_anew
bonds 'p1, p4' p1 'p3, p2' | config_write swapped
apply_once swapped
expect_equal "ports" "$(ports_of one), $(ports_of two)" "p1 p4, p2 p3"
expect_no_outage one p1
expect_equal "outages of two" "$(outages_of two)" ""
wait_until 30 reaches 10.2.0.254

say "a port goes, and is left to itself"
bonds 'p1' p1 'p3, p2' | config_write fewer
apply_once fewer
expect_equal "ports" "$(ports_of one)" "p1"
expect_no_outage one p1

say "all change sides: neither is ever without a carrier"
bonds 'p3, p2' p3 'p1, p4' | config_write crossed
witness_anew
apply_once crossed
expect_equal "ports" "$(ports_of one), $(ports_of two)" "p2 p3, p1 p4"
expect_equal "outages" "$(outages_of one)$(outages_of two)" ""
wait_until 30 reaches 10.1.0.254
wait_until 30 reaches 10.2.0.254
