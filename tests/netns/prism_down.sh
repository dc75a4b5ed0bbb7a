#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# No API server lives: a client is told at once, by a reset, or (whenDown: refuse) because nothing
# listens any more. As soon as one lives again, so does everything else.
. "$(dirname "$0")/lib-prism.sh"

PRISM_HEALTH="interval: 1s
suspectInterval: 200ms"

all_stop() {
	local node
	for node in "${NODES[@]}"; do
		api_stop "$node"
	done
}

only() { # KIND
	expect_equal "requests that ended with '$1'" \
		"$(client_figure nobody ".failures.$1")" "$(client_figure nobody .asked)"
	expect_within_ms "until the last one was told" "$(slowest_ms)" 100
}

slowest_ms() {
	sed -nE 's/.* after_ms=([0-9]+) .*/\1/p' "$LOG_DIR/client-nobody.log" | sort -n | tail -n 1
}

works() {
	inside cl curl -sf --max-time 1 --cacert "$PKI/cluster-ca.crt" --resolve "$CLIENT_NAME:7445:127.0.0.1" \
		"https://$CLIENT_NAME:7445/version"
}

prism_before_servers
say "all three die"
all_stop
wait_until 5 states_are n1=down n2=down n3=down
client_run nobody open --rate 50 --seconds 1 $ASK_VERSION
only reset
api_start n1
wait_until 5 works
client_run again open --rate 50 --seconds 1 $ASK_VERSION
expect_all_well again 50

say "the same with whenDown: refuse"
PRISM_MORE="whenDown: refuse"
prism_configure
signal HUP prism-cl
wait_until 5 states_are n1=ready
expect_equal "listeners that are open" "$(prism_figure '.listeners | map(select(.open)) | length')" 2
api_stop n1
wait_until 5 states_are n1=down
wait_until 2 prism_is '.listeners | map(select(.open)) | length' 0
client_run nobody open --rate 50 --seconds 1 $ASK_VERSION
only refused
api_start n2
wait_until 5 works
client_run again open --rate 50 --seconds 1 $ASK_VERSION
expect_all_well again 50
