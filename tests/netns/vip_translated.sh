#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two addresses, IPv4 and IPv6, are asked for by every path that ends in a process: the server's own port,
# REDIRECT, DNAT to a pod, hostPort, NodePort; on new connections and on established ones; by a client
# that hears of moves and by clients that go on sending to one node. The owner's vipd is stopped, told to
# move, and killed: by no path may the former owner answer when the next one does.
VIP=10.86.0.100
VIPS="$VIP fd86::100"
. "$(dirname "$0")/lib.sh"

EVENTS=()

both_on() { # NODE
	local VIP
	for VIP in $VIPS; do
		settled_on "$1" || return 1
	done
}

both_on_other_than() { # NODE
	local VIP
	for VIP in $VIPS; do
		settled_on_other_than "$1" || return 1
	done
}

owners_answer() {
	local VIP
	for VIP in $VIPS; do
		tcp_answers "$(holders)" "$VIP" "${TCP_PATHS[@]}" || return 1
	done
}

# Both addresses on one node, which each client knows by then: sets OWNER.
gather() {
	OWNER=$(holders)
	VIP=fd86::100 held_by "$OWNER" || VIP=fd86::100 fairlead "$(VIP=fd86::100 holders)" vip move fd86::100 to "$OWNER"
	wait_until 10 both_on "$OWNER"
	wait_until 10 owners_answer
	for_seconds 1 both_on "$OWNER"
}

# From here to the next sentence it is the former owner.
event() { # SENTENCE
	EVENTS+=("$OWNER $1")
	say "$1"
}

# Last answer of the former owner, first of the next (by ARP or NA), in ms after the event.
table() {
	local VIP i event
	for VIP in $VIPS; do
		for i in "${!EVENTS[@]}"; do
			event=${EVENTS[i]#* }
			cat $(wire_logs "$VIP") | sort -n | awk -v former="$(node_mac "${EVENTS[i]%% *}")" -v event="$event" \
				-v address="$VIP" -f "$NETNS_DIR/lib/paths.awk"
		done
	done
}

cluster_up
tcp_up
pods_up
for address in $VIPS; do
	observe "$address"
done
say "vipd starts on all three"
vipd_start "${NODES[@]}"
wait_until 15 both_on_other_than none
# Not before: a node without vipd has no gate, and `dnat` translates on each node, also without the address.
for address in $VIPS; do
	observe_tcp "$address" "${TCP_PATHS[@]}"
done
gather

event "vipd is stopped on the owner"
vipd_pause "$OWNER"
wait_until 10 both_on_other_than "$OWNER"
for_seconds 4 both_on_other_than "$OWNER"
say "and goes on"
vipd_resume "$OWNER"
for_seconds 2 both_on_other_than "$OWNER"
gather

event "the addresses are moved"
for address in $VIPS; do
	fairlead "$OWNER" vip move "$address" >/dev/null
done
wait_until 10 both_on_other_than "$OWNER"
for_seconds 3 both_on_other_than "$OWNER"
gather

event "vipd is killed on the owner"
kill_hard "vipd-$OWNER"
wait_until 10 both_on_other_than "$OWNER"
for_seconds 3 both_on_other_than "$OWNER"
say "the end"
wire_settle
table | tee "$LOG_DIR/paths"
