#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A firewall on the owner drops the API server's port from outside; the owner's own check, over loopback,
# sees nothing. The other nodes see it, and the address moves, once and without overlap. Then all nodes
# drop the port: the address stays, and status says so.
POLICY='holdDown: 1s'
. "$(dirname "$0")/lib.sh"

firewall() { # NODE
	inside "$1" nft -f - <<-'NFT'
		table inet firewall {
			chain input {
				type filter hook input priority filter
				iifname eth0 tcp dport 6443 drop
			}
		}
	NFT
}

sees() { # NODE REACHED UNREACHED
	status_is "$1" '"\(.outside_reached) \(.outside_unreached)"' "$2 $3"
}

warns() { # NODE TEXT
	fairlead "$1" vip status "$VIP" | has_line "$2"
}

# Connects to the API server all the time, and notes when it has answered.
client_up() {
	# shellcheck disable=SC2016
	spawn client cl bash -c 'while :; do
		! curl -sf -o /dev/null --max-time 0.5 --cacert "$1" --connect-to "::$2:" https://kubernetes:6443/readyz ||
			echo "$EPOCHREALTIME" >>"$3"
		sleep 0.1
	done' client "$PKI/cluster-ca.crt" "$VIP" "$T/answers"
}

# The longest time without an answer, in ms.
client_gap_ms() {
	awk '{ gap = $1 - last > gap && last ? $1 - last : gap; last = $1 } END { printf "%d\n", gap * 1000 }' "$T/answers"
}

cluster_with_owner
client_up
for node in "${NODES[@]}"; do
	wait_until 6 sees "$node" 2 0
done
former=$OWNER

say "a firewall on $former drops port 6443 from outside"
firewall "$former"
wait_until 14 settled_on_other_than "$former"
OWNER=$(holders)
wait_until 5 sees "$OWNER" 2 0
wire_check --from "$STEP" --max-overlap-ms 0 --max-gap-ms 100 --expect-moves 1
expect_equal "the reason of the move" "$(status "$OWNER" .last_move.reason)" "unreachable from outside"
status_is "$former" .health good || fail "$former is not healthy"
etcd_ctl get "fairlead/v1/vip/$VIP/node/$former" --print-value-only | has_line '"failedEpoch":' ||
	fail "the key of $former does not say that it failed"
gap_ms=$(client_gap_ms)
echo "the client was without an answer for $gap_ms ms"
[[ $gap_ms -gt 3000 && $gap_ms -le 10000 ]] || fail "the client had no answer for $gap_ms ms"

say "so do all others: it stays"
for node in "${NODES[@]}"; do
	[[ $node == "$former" ]] || firewall "$node"
done
wait_until 10 sees "$OWNER" 0 2
for_seconds 3 settled_on "$OWNER"
wire_check --from "$STEP" --max-overlap-ms 0 --max-gap-ms 100 --expect-moves 0
expect "status says it" warns "$OWNER" "2 of 2 other nodes cannot connect to the VIP on this node"
expect "and why it stays" warns "$OWNER" "It stays: it has moved for this a short time ago"

say "the firewalls are gone"
for node in "${NODES[@]}"; do
	inside "$node" nft delete table inet firewall
done
wait_until 8 sees "$OWNER" 2 0
for_seconds 1 settled_on "$OWNER"
wire_check --from "$STEP" --max-overlap-ms 0 --expect-moves 0
! warns "$OWNER" "cannot connect to the VIP" || fail "it still warns"
