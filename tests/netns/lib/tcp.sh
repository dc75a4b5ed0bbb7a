# SPDX-License-Identifier: Apache-2.0
# Who terminates TCP for an address (tests/tools/tcpwatch.c), by every path that a node may have. The host
# `tcp` is the client: its eth0 has an ordinary neighbour cache; its links n1, n2, ... have permanent
# entries that name that node for the address, as a client that heard of no move. Each node has a server
# and a "pod": a namespace behind the node, with the same server, as container networks have them.
#
#   host     address                                        MAC
#   tcp      10.86.0.61, fd86::61 (eth0)                    02:fa:00:00:00:61
#            10.86.0.71..73, fd86::71..73 (n1..n3)          ..:71..73
#   pod-n1   10.88.11.2, fd88:11::2; the node is .1, ::1

NUMBER[tcp]=61
TCP_PORT=8000 # of the servers
TCP_INTERVAL_MS=${TCP_INTERVAL_MS:-50}

# Paths: what a node does with a packet for the address on that port.
TCP_DIRECT=(direct=$TCP_PORT)
TCP_PATHS=(
	"${TCP_DIRECT[@]}"
	redirect=8001 # to the server's port, where the address is
	dnat=8002     # to the node's pod, by each node: kube-proxy's externalIPs
	hostport=8003 # to the node's pod, where the address is: hostPort, docker -p
	nodeport=8004 # to the pods in turn, those of other nodes too: kube-proxy's NodePort
)

# The client, and a server on each node.
tcp_up() {
	local node
	host_up tcp
	# Each link speaks for its own addresses only.
	inside tcp sysctl -qw net.ipv4.conf.{all,default}.arp_ignore=1 net.ipv4.conf.{all,default}.arp_announce=2
	for node in "${NODES[@]}"; do
		tcp_link_up "$node"
		tcp_serve "$node"
	done
	TCP_IS_UP=yes
}

tcp_link_up() { # NODE
	local number=$((NUMBER[$1] + 60))
	ip -n sw link add "tcp-$1" type veth peer name "$1" address "02:fa:00:00:00:$number" netns tcp
	ip -n sw link set "tcp-$1" master lan up
	ip -n tcp -batch - <<-BATCH
		link set $1 up
		address add 10.86.0.$number/24 dev $1
		address add fd86::$number/64 dev $1 nodad
	BATCH
}

# Also after a loss of power. The node knows the clients' MACs: of a client with a permanent entry for the
# address it could not learn one, as that answers a neighbour solicitation to the wrong node.
tcp_serve() { # NODE
	local node number
	for node in tcp "${NODES[@]}"; do
		number=${NUMBER[$node]}
		[[ $node == tcp ]] || number=$((number + 60))
		echo "neigh replace 10.86.0.$number lladdr 02:fa:00:00:00:$number dev eth0 nud permanent"
		echo "neigh replace fd86::$number lladdr 02:fa:00:00:00:$number dev eth0 nud permanent"
	done | ip -n "$1" -batch -
	spawn "server-$1" "$1" "$TOOLS/tcpwatch" --serve "$TCP_PORT"
}

# A pod on each node, and the rules that lead to it.
pods_up() {
	local node
	for node in "${NODES[@]}"; do
		pod_up "$node"
	done
	PODS_ARE_UP=yes
}

pod_up() { # NODE
	local node=$1 other number=${NUMBER[$1]}
	ip netns add "pod-$node"
	ip link add pod0 netns "$node" type veth peer name eth0 netns "pod-$node"
	ip -n "$node" -batch - <<-BATCH
		link set pod0 up
		address add 10.88.$number.1/24 dev pod0
		address add fd88:$number::1/64 dev pod0 nodad
		$(for other in "${NODES[@]}"; do
			[[ $other != "$node" ]] || continue
			echo "route add 10.88.${NUMBER[$other]}.0/24 via 10.86.0.${NUMBER[$other]}"
			echo "route add fd88:${NUMBER[$other]}::/64 via fd86::${NUMBER[$other]}"
		done)
	BATCH
	ip -n "pod-$node" -batch - <<-BATCH
		link set lo up
		link set eth0 up
		address add 10.88.$number.2/24 dev eth0
		address add fd88:$number::2/64 dev eth0 nodad
		route add default via 10.88.$number.1
		route add default via fd88:$number::1
	BATCH
	spawn "server-pod-$node" "pod-$node" "$TOOLS/tcpwatch" --serve "$TCP_PORT"
	pod_rules "$node" | inside "$node" nft -f -
}

pod_rules() { # NODE
	local number=${NUMBER[$1]} v4=() v6=() address family other
	for other in "${NODES[@]}"; do
		v4+=("${#v4[@]} : 10.88.${NUMBER[$other]}.2")
		v6+=("${#v6[@]} : fd88:${NUMBER[$other]}::2")
	done
	cat <<-NFT
		table inet translated {
			chain prerouting {
				type nat hook prerouting priority dstnat
				fib daddr type local tcp dport 8001 redirect to :$TCP_PORT
				$(for address in ${VIPS:-$VIP}; do
					if [[ $address == *:* ]]; then
						echo "ip6 daddr $address tcp dport 8002 dnat ip6 to [fd88:$number::2]:$TCP_PORT"
					else
						echo "ip daddr $address tcp dport 8002 dnat ip to 10.88.$number.2:$TCP_PORT"
					fi
				done)
				meta nfproto ipv4 fib daddr type local tcp dport 8003 dnat ip to 10.88.$number.2:$TCP_PORT
				meta nfproto ipv6 fib daddr type local tcp dport 8003 dnat ip6 to [fd88:$number::2]:$TCP_PORT
				meta nfproto ipv4 fib daddr type local tcp dport 8004 meta mark set 0x4000 dnat ip to numgen inc mod ${#NODES[@]} map { $(list "${v4[@]}") }:$TCP_PORT
				meta nfproto ipv6 fib daddr type local tcp dport 8004 meta mark set 0x4000 dnat ip6 to numgen inc mod ${#NODES[@]} map { $(list "${v6[@]}") }:$TCP_PORT
			}
			chain postrouting {
				type nat hook postrouting priority srcnat
				meta mark 0x4000 masquerade
				ip saddr 10.88.$number.2 ip daddr 10.88.$number.2 masquerade
				ip6 saddr fd88:$number::2 ip6 daddr fd88:$number::2 masquerade
			}
		}
	NFT
}

list() { # WORD...
	local IFS=,
	echo "$*"
}

# Begins to connect to an address by these paths (without: the direct one).
observe_tcp() { # [ADDRESS [PATH...]]
	local address=${1:-$VIP} fifo fd node links=(--link=eth0)
	shift $(($# > 0))
	[[ $# -gt 0 ]] || set -- "${TCP_DIRECT[@]}"
	for node in "${NODES[@]}"; do
		links+=("--link=$node")
		ip -n tcp neigh replace "$address" lladdr "$(node_mac "$node")" dev "$node" nud permanent
	done
	fifo=$T/marks-${address//:/-}-tcp
	mkfifo "$fifo"
	nsenter --net=/run/netns/tcp -- "$TOOLS/tcpwatch" --address "$address" --log "$(tcp_log "$address")" \
		--interval "$TCP_INTERVAL_MS" "${links[@]}" "${@/#/--path=}" <"$fifo" 2>>"$LOG_DIR/tcpwatch.log" &
	PID[tcpwatch-$address]=$!
	exec {fd}>"$fifo"
	TCP_FD[$address]=$fd
	wait_until 5 grep -q asking "$(tcp_log "$address")"
}

# In the last second that node answered on each of these paths, on new connections and on established ones,
# to an ordinary client and to one that knows that node only; so the silence of others proves something.
tcp_answers() { # NODE ADDRESS PATH...
	local node=$1 address=$2
	shift 2
	tail -n 4000 "$(tcp_log "$address")" | awk -v mac="$(node_mac "$node")" -v node="$node" -v paths="$*" '
		{ now = $1 > now ? $1 : now }
		$2 == "serve" && $3 == mac && ($6 == "eth0" || $6 == node) { seen[$4, $5, $6] = $1 }
		END {
			n = split(paths, path, " ")
			for (i = 1; i <= n; i++) {
				sub("=.*", "", path[i])
				split("new held", kind, " ")
				for (k in kind)
					if (seen[path[i], kind[k], "eth0"] < now - 1e6 || seen[path[i], kind[k], node] < now - 1e6)
						exit 1
			}
		}'
}
