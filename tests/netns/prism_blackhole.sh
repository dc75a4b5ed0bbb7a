#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Packets to an API server vanish. New connections are made elsewhere after a quarter of a second, before
# anything is known of it and after; nobody fails and nobody waits for longer than that.
. "$(dirname "$0")/lib-prism.sh"

HEDGED_MS=300

# What the slowest had to wait more than usual; what the client itself was late is not prism's.
expect_hedged() { # CLIENT [KIND...]
	expect_all_well "$1" 20 "${@:2}"
	expect_within_ms "delay of the slowest request" \
		"$(client_figure "$1" '.max_ms - .p50_ms - .late_ms')" $HEDGED_MS
}

attempts() { # NODE: that came to nothing
	upstream_of "$1" .connect_failures
}

# Clients wait at the door, so that some are there before anything is known of the servers. Whom prism
# tries first for them is chance.
start_with_clients() {
	client_spawn begin open --rate 100 --count 100 $ASK_VERSION
	wait_until 5 log_says client-begin refused
	prism_start
	client_wait 10 begin
	expect_hedged begin refused
}

lan_with_servers
api_start n2
api_start n3
wait_until 5 port_open n2
wait_until 5 port_open n3

say "n1 answers no SYN from the beginning"
spawn odd-n1 n1 "$TOOLS/oddserver" --blackhole --listen 10.86.0.11:6443
wait_until 5 log_says odd-n1 blackhole
for ((i = 0; i < 10; i++)); do
	start_with_clients
	[[ $(attempts n1) -eq 0 ]] || break
	kill_hard prism-cl
done
expect_at_least "attempts at n1" "$(attempts n1)" 1
wait_until 8 states_are 'n1=down|hung' n2=ready n3=ready

say "the one that the client uses answers none any more"
client_start middle open --rate 20 $ASK_VERSION
for_seconds 1 true
home=n2 other=n3
[[ $(upstream_of n3 .connects) -le $(upstream_of n2 .connects) ]] || home=n3 other=n2
blackhole "$home" syn
for_seconds 2 alive client-middle
client_stop middle
expect_hedged middle
expect_at_least "attempts at $home" "$(attempts "$home")" 1
wait_until 8 states_are 'n1=down|hung' "$home=down|hung" "$other=ready"

say "both are known: nothing is asked of them first, though $home answers on connections that it has"
client_run known open --rate 20 --seconds 3 $ASK_VERSION
expect_all_well known 60
expect_within_ms "the slowest request" "$(client_figure known '.max_ms - .late_ms')" 150

say "$home answers again"
blackhole_end "$home"
wait_until 15 states_are "$home=ready"
