#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What API servers say of themselves. One that is not ready while its port answers gets no new
# connections, and loses those that it has while they are silent; one that hides its readiness is as
# good as any; and when none is ready, all go on being used.
. "$(dirname "$0")/lib-prism.sh"

PRISM_HEALTH="interval: 1s
suspectInterval: 200ms"
PRISM_MORE="drain:
  idle: 300ms
  spread: 1s"

n1_is_left() {
	[[ $(upstream_of n1 .connections) -eq 0 ]]
}

readiness_is_unknown() { # NODE
	[[ $(upstream_of "$1" .readiness_unknown) == true ]]
}

prism_before_servers
client_start open open --rate 20 $ASK_VERSION
client_start kept kept --connections 12 --every 1300 $ASK_VERSION
for_seconds 1 true
expect_at_least "connections of n1" "$(upstream_of n1 .connections)" 1

say "n1 says 500: a check has failed"
api_answer n1 broken
wait_until 3 states_are n1=not_ready
expect "the check's name is in the status" grep -q 'etcd' <<<"$(upstream_of n1 .reason)"
wait_until 5 n1_is_left
before=$(api_requests n1 ' /version')
for_seconds 1 states_are n1=not_ready
expect_equal "new requests to n1" $(($(api_requests n1 ' /version') - before)) 0
client_stop open
client_stop kept
expect_all_well open 40
expect_all_well kept 12
expect_at_least "connections that were closed while silent" "$(client_figure kept .closed_idle)" 1
expect_at_most "questions that met a closing connection" "$(client_figure kept .stale)" 1

say "all say 500"
api_answer n2 broken
api_answer n3 broken
wait_until 3 states_are n1=not_ready n2=not_ready n3=not_ready
client_start kept kept --connections 6 --every 400 $ASK_VERSION
client_run open open --rate 20 --seconds 2 $ASK_VERSION
client_stop kept
expect_all_well open 40
expect_all_well kept 6
expect_equal "connections that were closed" "$(client_figure kept .closed_idle)" 0

say "all say 401"
for node in "${NODES[@]}"; do
	api_answer "$node" private
done
wait_until 5 states_are n1=alive n2=alive n3=alive
wait_until 7 readiness_is_unknown n1
expect "it is a warning" grep -q '^warning: an API server does not tell' \
	<<<"$(fairlead cl prism status)"
client_run open open --rate 20 --seconds 1 $ASK_VERSION
expect_all_well open 20
