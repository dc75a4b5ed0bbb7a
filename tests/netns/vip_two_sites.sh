#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two sites, each with an etcd and a VIP of the same address, are plugged into one LAN by mistake. No
# record and no cluster id can tell either that it is not alone: both stay owners, and both say at
# once that another host claims the address, with its MAC.
OVERLAP_MS=600000 # which is what this is about
. "$(dirname "$0")/lib.sh"

hears() { # NODE OTHER
	status_is "$1" .foreign_mac "$(node_mac "$2")" && log_says "vipd-$1" "vip_conflict .*$(node_mac "$2")"
}

say "two sites, one node each, on separate LANs"
NODES=(n1 n2)
lan_up
bridge_up other
ip -n sw link set n2-lan master other
pki_up
api_up
etcd_binaries
observe
for node in n1 n2; do
	NODES=("$node")
	etcd_start "$node"
	vipd_start "$node"
	wait_until 30 status_is "$node" .state owner
done
NODES=(n1 n2)
expect_equal "conflicts of n1" "$(status n1 .conflicts)" 0

say "n2 is plugged into the LAN of n1"
cable_out n2 lan
ip -n sw link set n2-lan master lan
cable_in n2 lan
for pair in "n1 n2" "n2 n1"; do
	# shellcheck disable=SC2086
	wait_until 3 hears $pair
done
held_by n1 n2 || fail "they are not both owners: $(holders)"
