#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# API servers are told to end, as an upgrade of the control plane does it, one after the other and with
# prism's own settings: /readyz fails at once, after a delay the server stops listening, ends what it
# has begun and exits. With a delay of 30, 5 and 0 s no request fails, new or kept.
. "$(dirname "$0")/lib-prism.sh"

# The server's end, SECONDS after /readyz began to fail.
term_after() { # NODE SECONDS
	for_seconds "$2" api_listens "$1"
	api_quit "$1"
	wait_exit 10 "api-$1"
}

api_listens() { # NODE
	alive "api-$1"
}

api_again() { # NODE
	api_answer "$1" ok
	api_start "$1"
	wait_until 10 states_are "$1=ready"
}

prism_before_servers
client_start open open --rate 20 $ASK_VERSION
client_start kept kept --connections 20 --every 250 $ASK_VERSION
client_start long open --rate 2 --timeout 10000 $ASK_LONG
for_seconds 1 true

say "n1 begins to end, and will take 30 s"
api_answer n1 ending
ends_cs=$(($(now_cs) + 3000))

say "n2 ends after 5 s"
api_answer n2 ending
term_after n2 5
say "n2 is back"
api_again n2

say "n3 ends at once"
api_answer n3 ending
term_after n3 0
say "n3 is back"
api_again n3

say "n1 waits for its time, and ends"
while [[ $(now_cs) -lt $ends_cs ]]; do
	for_seconds 1 alive api-n1
done
term_after n1 0
for_seconds 1 alive client-open
client_stop open
client_stop kept
client_stop long
expect_all_well open 600
expect_all_well kept 1000
expect_all_well long 50
expect_equal "connections that prism reset" "$(prism_figure .failed)" 0
