#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Others meddle with the owner's link: the address is deleted, a network manager flushes them all, the
# link goes down, the cable is pulled. What can be mended is mended at once; a node without a link
# gives the address away.
. "$(dirname "$0")/lib.sh"

readds_are() { # NUMBER
	[[ $(status "$OWNER" .readds) -ge $1 ]]
}

cluster_with_owner
say "somebody deletes the address on $OWNER"
ip -n "$OWNER" address delete "$VIP/32" dev eth0
wait_until 2 held_by "$OWNER"
wait_until 2 readds_are 1
wire_check --from "$STEP" --max-gap-ms 500 --expect-moves 0

say "a network manager flushes the link of $OWNER"
# It gives up in the end: the address comes back faster than it can be flushed.
ip -n "$OWNER" address flush dev eth0 || true
host_address "$OWNER"
wait_until 2 held_by "$OWNER"
wait_until 2 readds_are 2
wait_until 2 client_reaches "$OWNER"
wire_check --from "$STEP" --max-gap-ms 1000 --expect-moves 0
for_seconds 1 settled_on "$OWNER"

for trouble in down cable; do
	former=$(holders)
	say "the link of $former: $trouble"
	lost=$STEP
	if [[ $trouble == down ]]; then
		ip -n "$former" link set eth0 down
	else
		cable_out "$former" lan
	fi
	wait_until 8 settled_on_other_than "$former"
	OWNER=$(holders)
	wire_check --from "$lost" --max-overlap-ms 0 --expect-moves 1 --max-gap-ms 4000
	say "the link of $former is back"
	if [[ $trouble == down ]]; then
		ip -n "$former" link set eth0 up
		host_address "$former"
	else
		cable_in "$former" lan
	fi
	wait_until 5 client_reaches "$OWNER"
	for_seconds 2 settled_on "$OWNER"
	wire_check --from "$lost" --max-overlap-ms 0 --expect-moves 1
done
