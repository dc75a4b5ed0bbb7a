#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Reloads and restarts with another configuration: two at once, one after the other without a pause, one that cannot work, one that changes
# the fence, one that puts the VIP on another link, ones that take it away from a node. The address is
# lost by none of them that need not, and nothing stays behind of what is no longer configured.
. "$(dirname "$0")/lib.sh"
# Under a sanitizer a restart takes as long as the usual window; on a busy machine one that must try
# twice to reach etcd does.
POLICY='fenceWindow: 5s'
! sanitizers_are_on || POLICY='fenceWindow: 10s'

configure() { # NODE
	vipd_config "$1" >"$T/vipd-$1.yaml"
}

candidates_are() { # NAMES
	[[ $(status "$OWNER" '[.candidates[].node] | join(" ")') == "$1" ]]
}

# What a connection to etcd sends in its first half second is lost: it is up after the second
# retransmission.
slow_connections() { # NODE
	inside "$1" nft -f - <<-'NFT'
		table inet story {
			set young {
				typeof tcp sport
				flags dynamic, timeout
				size 65535
			}
			chain out {
				type filter hook output priority -200;
				tcp dport 2379 tcp flags & (syn | ack) == syn update @young { tcp sport timeout 500ms }
				tcp dport 2379 tcp flags & psh == psh tcp sport @young drop
			}
		}
	NFT
}

ready_again() { # NODE COUNT: it has started COUNT times in all
	[[ $(grep -c 'event=starting' "$LOG_DIR/vipd-$1.log") -ge $2 ]]
}

restart() { # NODE
	signal USR2 "vipd-$1"
	wait_exit 5 "vipd-$1"
	vipd_start "$1"
}

is_only_on() { # NODE LINK
	[[ $(ip -n "$1" -json address show to "$VIP" | jq -r '[.[] | select(.ifname) | .ifname] | join(" ")') == "$2" ]]
}

cluster_with_owner
wait_until 2 client_reaches "$OWNER"

say "$OWNER is told to reload again and again, faster than it can start"
for ((i = 0; i < 12; i++)); do
	signal HUP "vipd-$OWNER"
	nap "0.0$((i % 4 * 2 + 1))"
done
wait_until 5 settled_on "$OWNER"
for_seconds 2 settled_on "$OWNER"
expect "vipd on $OWNER lives" alive "vipd-$OWNER"
wire_check --from "$STEP" --expect-moves 0 --max-owners 1 --max-gap-ms 100

say "a connection to etcd takes longer to come up than the pause between two reloads"
for node in "${NODES[@]}"; do
	slow_connections "$node"
done
for ((i = 0; i < 20; i++)); do
	for node in "${NODES[@]}"; do
		signal HUP "vipd-$node"
	done
	nap 0.4
done
for node in "${NODES[@]}"; do
	mgmt_pass "$node"
done
wait_until 10 settled_on "$OWNER"
expect "reloads waited for their turn" log_says "vipd-$OWNER" event=reload_delayed
wire_check --from "$STEP" --expect-moves 0 --max-owners 1 --max-gap-ms 100

say "its new configuration names a key that does not belong to the certificate"
configure "$OWNER"
other=$(node_other_than "$OWNER")
sed -i "s|^keyFile: .*|keyFile: $PKI/client-$other.key|" "$T/vipd-$OWNER.yaml"
signal HUP "vipd-$OWNER"
wait_until 5 log_says "vipd-$OWNER" 'event=reload_refused'
for_seconds 2 settled_on "$OWNER"
wire_check --from "$STEP" --expect-moves 0 --max-owners 1 --max-gap-ms 100
configure "$OWNER"

say "$OWNER restarts with the VIP on another link"
ip -n "$OWNER" link add other0 type veth peer name other1
ip -n "$OWNER" link set other0 up
ip -n "$OWNER" link set other1 up
VIP_LINK=other0 restart "$OWNER"
wait_until 5 log_says "vipd-$OWNER" "event=leftover_swept addr=$VIP/32"
wait_until 15 settled_on "$OWNER"
expect "it left the old link" is_only_on "$OWNER" other0

say "$OWNER restarts without the VIP"
former=$OWNER
VIPS=10.86.0.200 restart "$former"
wait_until 15 held_by_other_than "$former"
OWNER=$(holders)
# Without its guard the address would speak for the rest of its lifetime.
expect_equal "what went first" "$(sed -n 's/.*event=\(leftover_swept\|guard_dropped\) .*/\1/p' \
	"$LOG_DIR/vipd-$former.log" | tail -n 2 | xargs)" "leftover_swept guard_dropped"
restart "$former"
wait_until 15 settled_on "$OWNER"

say "$OWNER restarts with the lifetime as its only fence"
NODE_POLICY[$OWNER]="fence: lifetime"
restart "$OWNER"
wait_until 10 settled_on "$OWNER"
for_seconds 3 client_reaches "$OWNER"
if inside "$OWNER" nft list tables | grep fairlead; then
	fail "the gate that nobody opens any more is still there"
fi

say "the VIP is configured away from another node"
other=$(node_other_than "$OWNER")
VIPS=10.86.0.200 configure "$other"
signal HUP "vipd-$other"
third=$(node_other_than "$OWNER" "$other")
wait_until 3 candidates_are "$(printf '%s\n' "$OWNER" "$third" | sort | paste -sd ' ')"
signal TERM "vipd-$OWNER"
wait_until 3 held_by "$third"
wire_check --from "$STEP" --expect-moves 1 --max-overlap-ms 0 --max-gap-ms 100
