#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What bench/netconf.sh does where there are bonds, at its smallest: as tests/bench/run does with all that
# needs none. What it measures is not looked at; that it is there is.
. "$(dirname "$0")/../../bench/netconf/world.sh"

QUICK=yes
net_world_enter "$@"
SHAPE=bond WORK=$T NETWORKD_S=300
sizes 1 2
outages 1

say "each has its figures"
for figure in {once,apply,ip,networkd}_bond_made_ms_at_2 once_bond_again_writes_at_2 apply_bond_differences_at_2 \
	once_bond_to_networkd_at_2 outage_bond_{none,hitless,blip,address_break,management_path}_lost; do
	expect "no $figure" grep -Eq "^$figure [a-z]+ [0-9.]+$" "$LOG_DIR/samples"
done
