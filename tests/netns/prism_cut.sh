#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An API server vanishes or hangs while connections to it are in use. Where another server answers, all
# clients of a hung one are told within 4 s, also those that ask nothing; those of one that still sends
# something to a client stay. Where it is the only one, a client that waits for an answer is told within
# 12 s, and one that asks nothing within 20 s.
. "$(dirname "$0")/lib-prism.sh"

ms_since() { # EPOCHREALTIME EPOCHREALTIME
	echo $(((${2/./} - ${1/./}) / 1000))
}

# When the last of these words was printed, in ms after the cut.
last_after_cut() { # CLIENT WORD
	ms_since "$cut_at" "$(sed -nE "s/^([0-9.]+) $2 .*/\1/p" "$LOG_DIR/client-$1.log" | tail -n 1)"
}

count() { # CLIENT WORD
	grep -Ec "^[0-9.]+ $2 " "$LOG_DIR/client-$1.log" || true
}

all_closed() { # CLIENT WORD COUNT
	[[ $(count "$1" "$2") -ge $3 ]]
}

# A worker with three API servers; each carries some of the connections.
before_hang() {
	lan_with_servers
	api_up
	prism_start
	wait_until 5 all_ready
	client_start quiet kept --connections 30 --every 0 $ASK_VERSION
	carried=$(upstream_of n2 .connections)
	expect_at_least "connections to n2" "$carried" 2
}

carries() { # NODE COUNT
	[[ $(upstream_of "$1" .connections) -ge $2 ]]
}

before_hang
say "n2 hangs while its connections are silent"
cut_at=$EPOCHREALTIME
api_hang n2
wait_until 8 all_closed quiet closed_idle "$carried"
hung_ms=$(last_after_cut quiet closed_idle)
expect_within_ms "until all clients of a hung server were told" "$hung_ms" 4000
expect_equal "clients of the other servers that were told" "$(count quiet closed_idle)" "$carried"
expect "the log says it" log_says prism-cl "upstream_dead upstream=10.86.0.12:6443"
api_resume n2
client_stop quiet
kill_hard prism-cl

say "n3 answers no probe any more, but each client gets a byte now and then"
api_stop n2
api_stop n3
PRISM_UPSTREAMS="10.86.0.12:6443 10.86.0.13:6443"
PRISM_HEALTH="interval: 2s"
odd_start n2 --mode drip --drip 100
odd_start n3 --mode drip --drip 100
prism_start
wait_until 5 states_are n2=ready n3=ready
client_spawn reader open --rate 20 --count 20 --echo 90 --timeout 60000
wait_until 5 carries n3 2
odd_control n3 "mode=drip readyz=0"
wait_until 10 states_are n2=ready n3=busy
client_wait 20 reader
expect_all_well reader 20
expect_equal "connections to n3 that were closed" "$(upstream_of n3 .closed_leaving)" 0
kill_hard prism-cl odd-n2 odd-n3
PRISM_HEALTH=

PRISM_UPSTREAMS="10.86.0.11:6443"
prism_start
wait_until 5 states_are n1=ready
client_start busy kept --connections 10 --every 200 --timeout 40000 $ASK_VERSION
client_start idle kept --connections 10 --every 0 $ASK_VERSION

say "n1 vanishes"
cut_at=$EPOCHREALTIME
blackhole n1 all
wait_until 15 all_closed busy '(stale|reset|closed|cut)' 10
busy_ms=$(last_after_cut busy '(stale|reset|closed|cut)')
wait_until 25 all_closed idle closed_idle 10
idle_ms=$(last_after_cut idle closed_idle)
say "busy clients were told after $busy_ms ms, idle ones after $idle_ms ms"
expect_within_ms "until a busy client was told" "$busy_ms" 12000
expect_within_ms "until an idle client was told" "$idle_ms" 20000
