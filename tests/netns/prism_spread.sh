#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# limit: 60
# Fifty nodes whose prism restarts at once: their connections are spread over three API servers, and no
# server gets a fifth more or less than its share.
. "$(dirname "$0")/lib-prism.sh"

AT_A_TIME=25
# Six are even by themselves; where the seventh goes is chance, or every node says the same.
EACH=7

listener() { # I
	echo "127.0.0.1:$((7000 + $1))"
}

ready_all() { # NAME
	prism_all "$1" '[.[1:][].state] == ["ready", "ready", "ready"]'
}

holds_connections() { # NAME
	log_says "client-$1" ' holding '
}

count() { # NODE
	api_requests "$1" ' /version'
}

# AT_A_TIME instances with their clients, from start to end.
one_group() {
	local i
	for ((i = 0; i < AT_A_TIME; i++)); do
		PRISM_LISTEN=$(listener $i)
		prism_configure "i$i"
		prism_spawn "i$i"
	done
	for ((i = 0; i < AT_A_TIME; i++)); do
		wait_until 10 ready_all "i$i"
		PRISM_CLIENTS="--to $(listener $i)"
		client_spawn "i$i" kept --connections $EACH --every 0 $ASK_VERSION
	done
	for ((i = 0; i < AT_A_TIME; i++)); do
		wait_until 5 holds_connections "i$i"
		client_stop "i$i" >/dev/null
		expect_all_well "i$i" $((2 * EACH))
		kill_hard "prism-i$i"
		unset "PRISMS[i$i]"
	done
}

lan_with_servers
api_up
say "50 instances of prism, each with $EACH connections"
one_group
one_group
share=$((2 * EACH * 2 * AT_A_TIME / 3))
say "n1 $(count n1), n2 $(count n2), n3 $(count n3) requests; $share would be even"
for node in "${NODES[@]}"; do
	expect_at_least "requests at $node" "$(count "$node")" $((share * 8 / 10))
	expect_at_most "requests at $node" "$(count "$node")" $((share * 12 / 10))
done
