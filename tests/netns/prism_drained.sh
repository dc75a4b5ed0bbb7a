#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The operator takes an API server out and puts it back: its connections leave while they are silent,
# new ones go elsewhere, no request fails. When it is the only one that lives, it is used all the same.
. "$(dirname "$0")/lib-prism.sh"

PRISM_HEALTH="interval: 1s
suspectInterval: 200ms"
PRISM_MORE="drain:
  idle: 300ms
  spread: 1s"
N1=10.86.0.11:6443

n1_has() { # none|some
	local n
	n=$(upstream_of n1 .connections)
	[[ $1 == none && $n -eq 0 || $1 == some && $n -gt 0 ]]
}

prism_before_servers
say "connections that are in use stay where they are while n1 is taken out"
client_start busy kept --connections 12 --every 50 $ASK_VERSION
fairlead cl prism drain "$N1" >"$T/said"
for_seconds 3 n1_has some
fairlead cl prism undrain "$N1" >"$T/said"
client_stop busy
expect_all_well busy 200
expect_equal "connections that were closed" "$(client_figure busy '.closed_idle + .stale')" 0

client_start kept kept --connections 12 --every 1300 $ASK_VERSION
client_start open open --rate 20 $ASK_VERSION
expect "n1 has connections" n1_has some

say "n1 is taken out"
fairlead cl prism drain "$N1"
expect_equal "drained" "$(upstream_of n1 .drained)" true
wait_until 5 n1_has none
before=$(api_requests n1 ' /version')
for_seconds 1 n1_has none
expect_equal "new requests to n1" $(($(api_requests n1 ' /version') - before)) 0

say "it stays out over a reload"
signal HUP prism-cl
for_seconds 1 true
expect_equal "drained" "$(upstream_of n1 .drained)" true

say "it is put back"
fairlead cl prism undrain "$N1"
wait_until 5 n1_has some
client_stop kept
client_stop open
expect_all_well kept 12
expect_all_well open 50
expect_at_most "questions that met a closing connection" "$(client_figure kept .stale)" 1

say "it is taken out, and the others die"
fairlead cl prism drain "$N1"
api_stop n2
api_stop n3
client_run last open --rate 20 --seconds 1 $ASK_VERSION
expect_all_well last 20

say "an unknown one, and a user who may not"
code=0
fairlead cl prism drain 10.86.0.99:6443 || code=$?
expect_equal "exit code for an unknown upstream" "$code" 1
code=0
inside cl setpriv --reuid nobody --regid nogroup --clear-groups "$FAIRLEAD" \
	--runtime-dir "$T/run-cl" prism undrain "$N1" || code=$?
[[ $code -ne 0 ]] || fail "nobody may undrain"
