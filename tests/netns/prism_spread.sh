#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fifty nodes with many connections whose prism restarts at once: they are spread over three API servers,
# and no server gets a fifth more or less than its share. A node with few keeps them at one, its home.
. "$(dirname "$0")/lib-prism.sh"

AT_A_TIME=25
# All of them run on one machine, where a server that waits for the processor is not to be taken for hung.
PRISM_HEALTH="timeout: 5s"
# As many as a node keeps at its home, and as many for each of the others.
EACH=18
FEW=4

listener() { # I
	echo "127.0.0.1:$((7000 + $1))"
}

# All three servers. A look into the log costs less than a question to each of so many.
knows_all() { # NAME
	[[ $(grep 'new=ready' "$LOG_DIR/prism-$1.log" | cut -d ' ' -f 2 | sort -u | wc -l) -eq 3 ]]
}

holds_connections() { # NAME
	log_says "client-$1" ' holding '
}

count() { # NODE
	api_requests "$1" ' /version'
}

keeps_few_at_home() { # NAME
	local at
	PRISM_CLIENTS="--to $(listener 0)"
	client_start few kept --connections $FEW --every 0 --path /version --ca "$PKI/cluster-ca.crt" --name $CLIENT_NAME
	at=$(prism_all "$1" '[.[1:][].connections | select(. > 0)] | join(" ")')
	expect_equal "connections to the one server that has any" "$at" $FEW
	client_stop few
}

# AT_A_TIME instances with their clients, from start to end.
one_group() { # NAME
	local i
	for ((i = 0; i < AT_A_TIME; i++)); do
		PRISM_LISTEN=$(listener $i)
		prism_configure "$1$i"
		prism_spawn "$1$i"
	done
	for ((i = 0; i < AT_A_TIME; i++)); do
		wait_until 10 knows_all "$1$i"
		[[ $i -gt 0 ]] || keeps_few_at_home "$1$i"
		PRISM_CLIENTS="--to $(listener $i)"
		client_spawn "$1$i" kept --connections $EACH --every 0 $ASK_VERSION
	done
	for ((i = 0; i < AT_A_TIME; i++)); do
		wait_until 5 holds_connections "$1$i"
		signal TERM "client-$1$i"
	done
	for ((i = 0; i < AT_A_TIME; i++)); do
		wait_exit 5 "client-$1$i"
		kill_hard "prism-$1$i"
		unset "PRISMS[$1$i]"
	done
	expect_equal "requests that went well, and that failed" "$(cat "$LOG_DIR/client-$1"*.log |
		grep '^{' | jq -s -r '[map(.ok), map(.failed) | add] | join(" ")')" \
		"$((2 * EACH * AT_A_TIME)) 0"
}

lan_with_servers
api_up
say "50 instances of prism, each with $EACH connections"
one_group a
one_group b
share=$((2 * EACH * 2 * AT_A_TIME / 3))
say "n1 $(count n1), n2 $(count n2), n3 $(count n3) requests; $share would be even"
for node in "${NODES[@]}"; do
	expect_at_least "requests at $node" "$(count "$node")" $((share * 8 / 10))
	expect_at_most "requests at $node" "$(count "$node")" $((share * 12 / 10))
done
