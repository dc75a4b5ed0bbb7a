#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A server whose certificate is of another authority, and one whose certificate is for another name:
# not one client reaches them, not even when no other server is left.
. "$(dirname "$0")/lib-prism.sh"

PRISM_HEALTH="interval: 1s
suspectInterval: 200ms"

expect_no_clients() {
	expect_equal "clients at n1" "$(odd_visitors n1 'tls|plain|quiet')" 0
	expect_equal "clients at n2" "$(odd_visitors n2 'tls|plain|quiet')" 0
}

lan_with_servers
pki_authority other-ca
pki_issue_api n1 other-ca
pki_issue api-n2 cluster-ca elsewhere "DNS:elsewhere,IP:10.86.0.12"
odd_start n1
odd_start n2
api_start n3
wait_until 5 port_open n3

say "n1 has a certificate of another authority, n2 one for another name"
prism_start
wait_until 5 states_are n1=untrusted n2=untrusted n3=ready
client_start open open --rate 50 $ASK_VERSION
for_seconds 2 states_are n1=untrusted n2=untrusted n3=ready
client_stop open
expect_all_well open 80
expect_no_clients

say "n3 dies: better nobody than somebody else"
api_stop n3
client_run nobody open --rate 50 --seconds 1 $ASK_VERSION
expect_equal "requests that went well" "$(client_figure nobody .ok)" 0
expect_no_clients

say "n2 gets the right certificate"
kill_hard odd-n2
pki_issue_api n2 cluster-ca
api_start n2
wait_until 10 states_are n1=untrusted n2=ready
client_run open open --rate 50 --seconds 1 $ASK_VERSION
expect_all_well open 45
expect_equal "clients at n1" "$(odd_visitors n1 'tls|plain|quiet')" 0
