#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# All packets of an API server vanish, those of connections that are in use included. A client that
# waits for an answer is told within 12 s, so that it can ask elsewhere; one that asks nothing within 20 s.
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

PRISM_UPSTREAMS="10.86.0.11:6443"
lan_with_servers
api_start n1
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
