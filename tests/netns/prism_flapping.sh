#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An API server that comes and goes every second. No request fails, and prism believes in it less and
# less: it does not follow every turn.
. "$(dirname "$0")/lib-prism.sh"

PRISM_HEALTH="interval: 1s
suspectInterval: 100ms"

prism_before_servers
client_start open open --rate 50 $ASK_VERSION
say "n1 comes and goes"
believed=0
for ((i = 0; i < 8; i++)); do
	api_stop n1
	nap 0.4
	api_start n1
	nap 0.6
	! states_are n1=ready || believed=$((believed + 1))
done
client_stop open
expect_all_well open 300 cut
expect_at_most "requests that were cut" "$(client_figure open .failures.cut)" 8
expect_within_ms "the slowest request" "$(client_figure open .max_ms)" 300
expect_at_most "times of 8 that it was believed to be ready" "$believed" 4

say "it stays: it is believed again"
wait_until 10 all_ready
