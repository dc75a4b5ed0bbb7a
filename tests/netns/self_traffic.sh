#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The stories of prism are worth what their clients are worth. Here the client asks servers directly,
# good and bad ones by turns, and must count each request for what it was; and haproxy, with neither
# retries nor checks, stands where prism does and must be seen to fail.
. "$(dirname "$0")/lib-prism.sh"

# The client asks n1; all of its requests must end so.
all_are() { # KIND
	client_figure direct .failures | jq -e "to_entries | map(select(.value > 0).key) == [\"$1\"]" >/dev/null ||
		fail "expected nothing but '$1'"
}

WAIT_MS=5000 # for an answer
ask() { # OPTION...
	client_run direct open --rate 100 --count 20 --timeout "$WAIT_MS" "$@"
}

ask_in_vain() { # OPTION...
	WAIT_MS=1000 ask "$@"
}

lan_with_servers
PRISM_CLIENTS="--to 10.86.0.11:6443"

say "nobody listens, then nothing answers"
ask --echo 100
all_are refused
blackhole n1 syn
ask_in_vain --echo 100
all_are timeout
blackhole_end n1

say "a good server"
api_start n1
wait_until 5 port_open n1
ask $ASK_VERSION
expect_all_well direct 20
client_run kept kept --connections 10 --every 50 --seconds 1 $ASK_VERSION
expect_all_well kept 100
expect_equal "requests in its log" "$(api_requests n1 "^[0-9.]+ 200 $CLIENT_NAME /version")" \
	$(($(client_figure direct .ok) + $(client_figure kept .ok)))

say "another status, another body, another name, another authority"
ask $ASK_VERSION --status 500
all_are wrong
ask $ASK_VERSION --body "$T/www/long"
all_are wrong
ask $ASK_VERSION --name elsewhere
all_are untrusted
pki_authority other-ca
ask $ASK_VERSION --ca "$PKI/other-ca.crt"
all_are untrusted

say "it dies in the middle of an answer"
client_spawn cut open --rate 20 --seconds 2 --timeout 20000 $ASK_LONG
for_seconds 1 true
api_stop n1
client_wait 10 cut
expect_at_least "requests that were cut" "$(client_figure cut .failures.cut)" 10
expect_at_least "requests that were refused" "$(client_figure cut .failures.refused)" 5

say "servers that misbehave"
odd_start n1
for pair in close=closed reset=reset; do
	odd_control n1 "mode=${pair%=*}"
	ask --echo 100
	all_are "${pair#*=}"
done
for pair in silent=timeout byte=stalled drip=stalled; do
	odd_control n1 "mode=${pair%=*}"
	ask_in_vain --echo 100
	all_are "${pair#*=}"
done
expect "what it received is what was sent" cmp \
	<("$TOOLS/apiclient" stream --bytes 100 --seed "$(client_figure direct '.asked - 1')") \
	"$(odd_received n1 plain)"
odd_control n1 "mode=echo"
ask --echo 20000
expect_all_well direct 20
client_run flow flow --connections 2 --bytes 20000000
expect_all_well flow 2
expect_equal "bytes that came back" "$(client_figure flow .received)" 40000000
client_run flow flow --bytes 1000000 --ends-first client
expect_all_well flow 1

say "a client that keeps connections notices what happens to them"
client_start kept kept --connections 5 --every 0 --echo 100
kill_hard odd-n1
wait_until 2 log_says client-kept 'closed_idle conn=4'
odd_start n1
client_stop kept
expect_equal "connections that were closed" "$(client_figure kept .closed_idle)" 5

say "haproxy before two servers, one of which dies"
kill_hard odd-n1
api_start n1
api_start n2
wait_until 5 port_open n2
cat >"$T/haproxy.cfg" <<-CONF
	defaults
	    mode tcp
	    timeout connect 1s
	    timeout client 10s
	    timeout server 10s
	    retries 0
	listen prism
	    bind 127.0.0.1:7445
	    balance roundrobin
	    server n1 10.86.0.11:6443
	    server n2 10.86.0.12:6443
CONF
spawn haproxy cl haproxy -db -f "$T/haproxy.cfg"
wait_until 5 inside cl curl -sk --max-time 1 https://127.0.0.1:7445/version
PRISM_CLIENTS="--to 127.0.0.1:7445"
client_start through open --rate 20 $ASK_VERSION
for_seconds 1 true
api_stop n1
for_seconds 1 true
client_stop through
expect_at_least "requests that failed" "$(client_figure through .failed)" 8
expect_at_least "requests that went well" "$(client_figure through .ok)" 20
