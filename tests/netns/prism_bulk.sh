#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# busy: with bytes
# Every byte goes through, in order: a gibibyte both ways at once, many streams side by side, and
# connections of which one side ends before the other has said anything.
. "$(dirname "$0")/lib-prism.sh"

PRISM_UPSTREAMS="10.86.0.11:6443"
PRISM_MORE="limits:
  halfCloseTimeout: 1s"
GIB=1073741824

lan_with_servers
odd_start n1 --mode echo --bytes 3000000
# What goes through in bulk is compared by the client; on record it would only fill the memory.
sent_to() { # BYTES
	"$TOOLS/apiclient" stream --bytes "$1"
}

prism_start
wait_until 5 states_are n1=ready

say "the client ends first, and gets all of the answer"
client_run ends flow --seconds 10 --connections 20 --bytes 500000 --ends-first client
expect_all_well ends 20
client_run ends flow --seconds 10 --connections 20 --bytes 1 --ends-first client
expect_all_well ends 20

say "the server ends first, and gets all of the request"
odd_control n1 mode=first
client_run ends flow --seconds 10 --bytes 3000000 --ends-first server
expect_all_well ends 1
wait_until 2 log_says odd-n1 'gone .*received=3000000 why=eof'
expect "it got what was sent" cmp <(sent_to 3000000) "$(odd_received n1 plain)"

say "the client ends first, and the server never"
odd_control n1 mode=byte
client_run ends flow --seconds 10 --connections 5 --bytes 1000 --ends-first client
expect_equal "connections that were ended for them" "$(client_figure ends .failures.cut)" 5
expect_at_most "time that it took, s" "$(client_figure ends .seconds)" 3

say "one gibibyte each way at once, then four streams"
kill_hard odd-n1
spawn odd-n1 n1 "$TOOLS/oddserver" --listen 10.86.0.11:6443 --mode echo \
	--cert "$PKI/api-n1.crt" --key "$PKI/api-n1.key"
wait_until 10 states_are n1=ready
client_run bulk flow --bytes $GIB
expect_all_well bulk 1
expect_equal "bytes that came back" "$(client_figure bulk .received)" $GIB
client_run bulk flow --connections 4 --bytes 50000000
expect_all_well bulk 4

say "clients that read nothing while everything runs full"
client_run full flow --connections 30 --bytes 10000000 --stall 500
expect_all_well full 30
client_run full flow --connections 30 --bytes 3000000 --stall 500 --chunk 3000
expect_all_well full 30
wait_until 2 prism_is .connections 0
