#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The probe process is killed, stopped, and killed again while an API server dies. Clients notice
# nothing of it, and prism has it back in no time.
. "$(dirname "$0")/lib-prism.sh"

PRISM_HEALTH="interval: 1s
suspectInterval: 200ms"

probe_pid() {
	pgrep -P "${PID[prism-cl]}" -x prism-probe
}

another_probe() { # PID
	local now
	now=$(probe_pid) && [[ $now != "$1" ]]
}

prism_before_servers
client_start open open --rate 50 $ASK_VERSION
client_start kept kept --connections 10 --every 100 $ASK_VERSION

say "kill -9 of the probe process"
for i in 1 2 3; do
	pid=$(probe_pid)
	kill -KILL "$pid"
	wait_until 10 another_probe "$pid"
done
expect_at_least "restarts in the status" "$(prism_figure .probe_restarts)" 3
wait_until 5 prism_is .probing true
for_seconds 1 all_ready

say "it is stopped, and then a server dies"
kill -STOP "$(probe_pid)"
api_stop n1
for_seconds 2 prism_answers
expect_equal "state of n1" "$(upstream_of n1 .state)" down
kill -KILL "$(probe_pid)"
wait_until 5 prism_is .probing true
api_start n1
wait_until 10 all_ready
client_stop open
client_stop kept
expect_all_well open 200 cut
expect_at_most "requests that were cut" "$(client_figure open .failures.cut)" 2
expect_all_well kept 200 cut
