#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One of three API servers is killed under load, and comes back. No request fails but those whose answer
# had begun, none waits, and who keeps connections just opens new ones.
. "$(dirname "$0")/lib-prism.sh"

used_again() { # NODE
	[[ $(api_requests "$1" ' /version') -gt $before ]]
}

prism_before_servers
client_start open open --rate 20 $ASK_VERSION
client_start kept kept --connections 30 --every 100 $ASK_VERSION
for_seconds 1 true
for node in "${NODES[@]}"; do
	expect_at_least "requests that $node answered" "$(api_requests "$node" ' /version')" 1
done

say "n1 is killed"
api_stop n1
for_seconds 2 alive client-open
client_stop open
client_stop kept
expect_all_well open 50 cut
expect_at_most "requests that were cut" "$(client_figure open .failures.cut)" 2
expect_within_ms "the slowest request" "$(client_figure open .max_ms)" 300
expect_all_well kept 500 cut
expect_equal "connections that are open" "$(client_figure kept .open)" 30
expect_equal "state of n1" "$(upstream_of n1 .state)" down
expect_equal "connections that were reset" "$(prism_figure .failed)" 0

say "n1 is back"
before=$(api_requests n1 ' /version')
api_start n1
wait_until 5 all_ready
client_start again open --rate 20 $ASK_VERSION
wait_until 5 used_again n1
client_stop again
expect_all_well again 1
