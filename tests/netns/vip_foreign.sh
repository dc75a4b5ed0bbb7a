#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A machine that is none of ours comes up with the VIP as its own address. The owner hears it, makes
# sure of its right, says so in its status and on the LAN, and clients come back to it.
. "$(dirname "$0")/lib.sh"

conflict_noticed() {
	[[ $(status "$OWNER" .conflicts) -ge 1 ]] &&
		status_is "$OWNER" .foreign_mac "$(node_mac foreign)"
}

owner_announces_after() { # MARK
	wire_settle
	sed -n "/ mark $1\$/,\$p" "$(wire_log)" | has_line " announce $(node_mac "$OWNER")"
}

cluster_with_owner
wait_until 2 client_reaches "$OWNER"
WIRE_IGNORE=("--ignore=$(node_mac foreign)")

# The announcements after a takeover are over before the conflict begins.
for_seconds 7 settled_on "$OWNER"
say "a foreign machine comes up with $VIP"
conflict=$STEP
host_up foreign
inside foreign sysctl -qw net.ipv4.conf.eth0.arp_notify=1
ip -n foreign address add "$VIP/32" dev eth0
# The kernel announces its addresses when the MAC is set, even to what it was.
ip -n foreign link set eth0 address "$(node_mac foreign)"
wait_until 5 grep -q "announce $(node_mac foreign)" "$(wire_log)"
wait_until 5 conflict_noticed
wait_until 5 owner_announces_after "$conflict"
wait_until 5 client_reaches "$OWNER"
for_seconds 2 settled_on "$OWNER"

say "it leaves again"
ip netns delete foreign
for_seconds 2 settled_on "$OWNER"
wait_until 2 client_reaches "$OWNER"
wire_check --from "$conflict" --expect-moves 0 --max-gap-ms 100 --max-owners 1
