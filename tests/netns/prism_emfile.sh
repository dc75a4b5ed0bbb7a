#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# prism has 64 descriptors, and four hundred clients come at once. It goes on: those that it has are
# served, it spins in no loop, and when there is room again it takes new ones.
. "$(dirname "$0")/lib-prism.sh"

PRISM_LIMITS="--nofile=64:64"

cpu_ticks() {
	awk '{ print $14 + $15 }' "/proc/${PID[prism-cl]}/stat"
}

prism_before_servers
say "three connections in use, then four hundred that only come"
client_start kept kept --connections 3 --every 50 $ASK_VERSION
client_spawn storm kept --connections 400 --opening 400 --every 0 --timeout 3000 $ASK_VERSION
for_seconds 1 prism_answers
before=$(cpu_ticks)
for_seconds 2 prism_answers
expect_at_most "CPU that it used in 2 s, percent" $((($(cpu_ticks) - before) / 2)) 20
client_stop storm
client_stop kept
expect_all_well kept 50
expect_at_least "connections of the storm that were served" "$(client_figure storm .ok)" 9
expect_at_least "silent ones that made room for them" "$(prism_figure .evicted)" 3

say "the storm is over"
client_run after open --rate 20 --seconds 1 $ASK_VERSION
expect_all_well after 20
expect_equal "accepting" "$(prism_figure .accepting)" true
