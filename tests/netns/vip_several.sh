#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Four VIPs, IPv4 and IPv6, on the same three nodes, which are equal: no node gets more than two. Each
# has its own owner and moves by itself; when a node loses its power, the two VIPs that it owned are
# answered by one node each within 4 s, and the rest stays.
VIPS="10.86.0.100 10.86.0.101 10.86.0.102 fd86::100"
POLICY='avoidEtcdLeader: false'
. "$(dirname "$0")/lib.sh"

each() { # COMMAND...: with $VIP set to one after the other; false if it is for one of them
	local VIP
	for VIP in $VIPS; do
		"$@" || return 1
	done
}

print_holders() {
	echo "         $VIP: $(holders)"
}

owners() { # the owner of each VIP
	each holders
}

most_of_one_node() { # how many VIPs the node has that has most
	owners | sort | uniq -c | sort -rn | awk 'NR == 1 { print $1 }'
}

cluster_up
tcp_up
each observe
each observe_tcp
say "vipd starts on all three"
vipd_start "${NODES[@]}"
wait_until 15 each settled
each print_holders
expect_equal "VIPs of the node that has most" "$(most_of_one_node)" 2

say "the second one is moved to n3, then to n2"
VIP=10.86.0.101
before_others=$(VIP=10.86.0.100 holders)
for target in n3 n2; do
	[[ $(holders) != "$target" ]] || continue
	for_seconds 1 each settled
	moving="$VIP to $target"
	mark_all "$moving"
	fairlead "$(holders)" vip move "$VIP" to "$target"
	wait_until 3 settled_on "$target"
	wire_check --from "$moving" --max-overlap-ms 0 --max-gap-ms 100 --expect-moves 1
done
VIP=10.86.0.100
[[ $(holders) == "$before_others" ]] || fail "$VIP moved along"
for_seconds 1 each settled

lost=$(owners | sort | uniq -d)
expect_equal "nodes that have two VIPs" "$(wc -w <<<"$lost")" 1
etcd_move_leader "$(node_other_than "$lost")"
say "$lost loses power"
off=$STEP
owned=$(for VIP in $VIPS; do [[ $(holders) != "$lost" ]] || echo "$VIP"; done)
power_off "$lost"
wait_until 8 each settled
for VIP in $VIPS; do
	print_holders
	wait_until 2 client_reaches "$(holders)"
	if [[ $owned == *$VIP* ]]; then
		wire_check --from "$off" --max-overlap-ms 0 --max-gap-ms 4000 --expect-moves 1
	else
		wire_check --from "$off" --max-overlap-ms 0 --max-gap-ms 100 --expect-moves 0
	fi
done
expect_equal "VIPs of the node that has most" "$(most_of_one_node)" 2
