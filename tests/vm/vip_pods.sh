#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Connections to a VIP that the kernel takes to a pod by itself. IPVS takes them behind the gate, so an owner
# whose vipd is stopped is silent for them too, established and new, although kube-proxy has the address on
# a dummy of every node. A flowtable takes established ones past the gate: vipd warns of it, and they end
# with the address, from a kernel on that looks after the routes of its flows (docs/limits.md).
. "$(dirname "$0")/lib.sh"

VIPD=${VIPD:-$BUILD/bin/vipd}
VIP=10.86.0.100
WINDOW_MS=10000

has_vip() { # LINK
	[[ -n $(ip -n n1 -oneline address show dev "$1" to "$VIP") ]]
}

# Says a line to VIP:80 five times a second on one connection, and logs when the echo has come.
talks() {
	exec 3<>"/dev/tcp/$VIP/80" || return
	exec 4<> <(:)
	while echo line >&3; do
		read -r -t 0.2 -u 3 && echo "${EPOCHREALTIME/[.,]/}" >>"$T/echoes"
		read -r -t 0.2 -u 4
	done
}

connects() {
	inside cl timeout 2 "$BASH" -c "exec 3<>/dev/tcp/$VIP/80"
}

connects_not() {
	! connects
}

last_echo_ms() {
	local last
	last=$(tail -n 1 "$T/echoes")
	echo $((${last:-0} / 1000))
}

echoes() {
	[[ $((${EPOCHREALTIME/[.,]/} / 1000 - $(last_echo_ms))) -lt 2000 ]]
}

quiet() {
	! echoes
}

say "a node with IPVS, a pod behind it, and a client that knows the node's MAC for good"
for ns in n1 cl pod; do
	ip netns add "$ns"
	ip -n "$ns" link set lo up
done
ip -n n1 link add eth0 type veth peer name eth0 netns cl
ip -n n1 link add pod0 type veth peer name eth0 netns pod
ip -n n1 link add kube-ipvs0 type dummy
for link in "n1 eth0 10.86.0.11/24" "cl eth0 10.86.0.9/24" "n1 pod0 10.244.0.1/24" "pod eth0 10.244.0.2/24" \
	"n1 kube-ipvs0 $VIP/32"; do
	read -r ns name address <<<"$link"
	ip -n "$ns" link set "$name" up
	ip -n "$ns" address add "$address" dev "$name"
done
ip -n pod route add default via 10.244.0.1
ip -n cl neighbour add "$VIP" dev eth0 nud permanent \
	lladdr "$(ip -n n1 -j link show dev eth0 | jq -r '.[0].address')"
inside n1 sysctl -qw net.ipv4.ip_forward=1
busybox modprobe ip_vs 2>/dev/null || true # ipvsadm asks modprobe by its name, which is not there
inside n1 ipvsadm --add-service --tcp-service "$VIP:80" --scheduler rr
inside n1 ipvsadm --add-server --tcp-service "$VIP:80" --real-server 10.244.0.2:80 --masquerading
spawn pod pod socat TCP-LISTEN:80,fork,reuseaddr EXEC:cat
mkdir -p "$T/run-n1"
cat >"$T/vipd.yaml" <<YAML
apiVersion: fairlead/v1
kind: NodeConfig
name: n1
---
apiVersion: fairlead/v1
kind: EtcdClientConfig
endpoints: [http://127.0.0.1:2379]
callTimeout: 10s
hedgeDelay: 5s
---
apiVersion: v1alpha1
kind: Layer2VIPConfig
name: $VIP
link: eth0
---
apiVersion: fairlead/v1
kind: VIPPolicyConfig
fenceWindow: ${WINDOW_MS}ms
fence: nftables
healthCheck: {enabled: false}
YAML
spawn etcd-n1 n1 etcd --data-dir "$T/etcd" --log-level error
spawn vipd-n1 n1 "$VIPD" --config "$T/vipd.yaml" --runtime-dir "$T/run-n1"
wait_until 60 has_vip eth0
wait_until 10 connects

export VIP T

connection_begins() {
	: >"$T/echoes"
	spawn client cl "$BASH" -c talks
	wait_until 10 echoes
}

# Sets LASTED_MS, by which the last echo came after it was stopped.
vipd_stops() { # SECONDS
	local stopped_ms
	signal STOP vipd-n1
	stopped_ms=$((${EPOCHREALTIME/[.,]/} / 1000))
	wait_until "$1" quiet
	for_seconds 3 quiet
	LASTED_MS=$(($(last_echo_ms) - stopped_ms))
	printf '         the last echo came %d ms after it was stopped\n' "$LASTED_MS"
}

say "a connection through IPVS"
export -f talks
connection_begins

say "vipd is stopped: the gate shuts when its window ends, and the connection is silent"
vipd_stops 15
expect "the VIP stays on kube-ipvs0" has_vip kube-ipvs0
[[ $LASTED_MS -le $WINDOW_MS ]] || fail "answered for longer than the window of $WINDOW_MS ms"
expect "no new connection either" connects_not

say "vipd goes on, and so does the connection"
signal CONT vipd-n1
wait_until 20 echoes
kill_hard client

say "no IPVS any more, but a translated port and a flowtable, and a connection that it took over"
ip -n n1 link delete kube-ipvs0
inside n1 ipvsadm --clear
inside n1 nft -f - <<NFT
table ip k {
	flowtable ft {
		hook ingress priority 0; devices = { eth0, pod0 };
	}
	chain services {
		type nat hook prerouting priority -100;
		ip daddr $VIP tcp dport 80 dnat to 10.244.0.2:80
	}
	chain forward {
		type filter hook forward priority 0;
		ct state established flow add @ft
	}
}
NFT
wait_until 10 has_vip eth0
connection_begins
offloaded() {
	inside n1 grep -q 'OFFLOAD' /proc/net/nf_conntrack
}
wait_until 10 offloaded
expect "a warning" test "$(fairlead n1 vip status | grep -c 'flowtable ft of table k on eth0')" = 1

if [[ $(uname -r) == 5.* ]]; then
	say "this kernel's flows keep their route, and go on for as long as packets come"
	exit
fi
say "vipd is stopped: the connection ends with the address, up to 3 s after the window"
vipd_stops 20
[[ $LASTED_MS -le $((WINDOW_MS + 3000)) ]] || fail "answered until $((LASTED_MS - WINDOW_MS)) ms after the window"
expect "no new connection either" connects_not
