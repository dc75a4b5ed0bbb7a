#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A host that is none of ours has the address before anyone: no node takes it, and each names it. It
# leaves, and the VIP has an owner by itself. Another takes the address in silence while a node of ours
# owns it: that is noticed within 10 s. A host that answers for every address of the subnet (proxy ARP)
# is none of these. The owner loses power and the foreign host stays: the VIP is taken, with a warning.
. "$(dirname "$0")/lib.sh"

FOREIGN=$(node_mac foreign)

# As an address that was typed by hand: the kernel announces none of it.
foreign_takes() {
	ip -n foreign address add "$VIP" dev eth0
}

foreign_leaves() {
	ip -n foreign address del "$VIP" dev eth0
}

refused_on_all() {
	local node
	for node in "${NODES[@]}"; do
		status_is "$node" .reason "another host answers for it: $FOREIGN" &&
			status_is "$node" .in_use true && status_is "$node" .foreign_mac "$FOREIGN" || return 1
	done
}

warned_of() { # NODE
	[[ $(status "$1" .conflicts) -ge 1 ]] && status_is "$1" .foreign_mac "$FOREIGN" &&
		status_is "$1" .in_use true
}

foreign_is_over() { # NODE
	status_is "$1" .in_use false
}

# A node with two links in the LAN answers on both, as Linux does.
second_link() { # NODE
	local mac=02:fc:00:00:00:${NUMBER[$1]}
	ip -n sw link add "$1-two" type veth peer name eth2 netns "$1"
	ip -n sw link set "$1-two" master lan up
	ip -n "$1" link set eth2 address "$mac" up
	WIRE_IGNORE+=("--ignore=$mac")
}

cluster_up
host_up foreign
foreign_takes
WIRE_IGNORE=("--ignore=$FOREIGN")
for node in "${NODES[@]}"; do
	second_link "$node"
done
observe

say "a foreign machine has $VIP before vipd starts"
vipd_start "${NODES[@]}"
wait_until 15 refused_on_all
for_seconds 5 held_by
refused_on_all || fail "no longer refused"
fairlead n1 status >"$T/status" 2>&1 || true
tr -s "\n " " " <"$T/status" | has_line "another host answers for it: $FOREIGN" || fail "fairlead status: $(cat "$T/status")"
log_says vipd-n1 "event=vip_in_use .*foreign_mac=$FOREIGN taken=0"
fairlead n1 metrics vipd | has_line "^fairlead_vipd_in_use{vip=\"$VIP\"} 1"

say "it leaves"
foreign_leaves
wait_until 15 settled
OWNER=$(holders)
wait_until 2 client_reaches "$OWNER"
for_seconds 2 status_is "$OWNER" .conflicts 0
! log_says vipd-n1 'vip_in_use .*foreign_mac=02:fc' || fail "a node's second link counts as foreign"

say "it takes the address in silence while $OWNER owns it"
foreign_takes
wait_until 12 warned_of "$OWNER"
settled_on "$OWNER" || fail "the VIP has moved"

say "the owner loses power, the foreign machine stays"
former=$OWNER
power_off "$former"
wait_until 8 settled_on_other_than "$former"
OWNER=$(holders)
wait_until 12 warned_of "$OWNER"
wire_check --from "the owner loses power, the foreign machine stays" --max-gap-ms 4000 --expect-moves 1

say "it leaves for good"
foreign_leaves
wait_until 40 foreign_is_over "$OWNER"
settled_on "$OWNER" || fail "the VIP has moved"

# Linux proxies no probe (arp_process() in net/ipv4/arp.c), so this host has all addresses. It has no way
# to do so with IPv6.
everything_is_answered() {
	say "a host answers for every address of the subnet"
	kill_hard "vipd-$OWNER" "vipd-$(node_other_than "$OWNER" "$former")"
	wait_until 10 held_by
	NODES=("$OWNER" "$(node_other_than "$OWNER" "$former")")
	ip -n foreign route add local 10.86.0.0/24 dev lo
	vipd_start "${NODES[@]}"
	wait_until 15 settled
	for_seconds 12 status_is "$(holders)" .conflicts 0
}
[[ $VIP == *:* ]] || everything_is_answered
