# SPDX-License-Identifier: Apache-2.0
# The machines and their cables. `sw` holds two bridges: the LAN, on which the VIP lives, and mgmt,
# which carries etcd only, so that a story can cut either alone. Nodes n1 n2 n3 have eth0 on the LAN
# and eth1 on mgmt, and forward packets as every Kubernetes node does. `cl` is a client, `obs` the
# observer, `foreign` a machine that is none of ours, `rt` a router of some stories; all on the LAN.
#
#   host     LAN (eth0)                    mgmt (eth1)   MAC of eth0
#   n1..n3   10.86.0.11..13  fd86::11..13  10.87.0.11..13  02:fa:00:00:00:11..13    (some have n4 and n5, too)
#   cl, obs, foreign, rt  .21 .31 .41 .51                ..:21 ..:31 ..:41 ..:51
#   sw                                     10.87.0.1

declare -gA NUMBER=([n1]=11 [n2]=12 [n3]=13 [n4]=14 [n5]=15 [cl]=21 [obs]=31 [foreign]=41 [rt]=51)

node_mac() { # HOST
	echo "02:fa:00:00:00:${NUMBER[$1]}"
}

mgmt_ip() { # NODE
	echo "10.87.0.${NUMBER[$1]}"
}

lan_up() {
	local host
	ip netns add sw
	bridge_up lan
	bridge_up mgmt
	ip -n sw address add 10.87.0.1/24 dev mgmt
	for host in cl obs; do
		host_up "$host"
	done
	for host in "${NODES[@]}"; do
		node_up "$host"
	done
}

bridge_up() { # BRIDGE
	# Snooping would keep neighbour solicitations from whoever has not joined in time.
	ip -n sw link add "$1" type bridge mcast_snooping 0 forward_delay 0
	ip -n sw link set "$1" up
}

# A namespace with eth0 on the LAN.
host_up() { # HOST
	local host=$1
	ip netns add "$host"
	# Duplicate address detection would hold every new IPv6 address back for a second.
	inside "$host" sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0
	ip -n "$host" link set lo up
	cable_plug "$host" eth0 lan
	ip -n "$host" link set eth0 address "$(node_mac "$host")"
	host_address "$host"
}

# The host's own addresses on the LAN (again, after somebody flushed them).
host_address() { # HOST
	ip -n "$1" address replace "10.86.0.${NUMBER[$1]}/24" dev eth0
	ip -n "$1" address replace "fd86::${NUMBER[$1]}/64" dev eth0 nodad
}

node_up() { # NODE
	host_up "$1"
	cable_plug "$1" eth1 mgmt
	# The same after a loss of power, or the others would send to the old one for seconds.
	ip -n "$1" link set eth1 address "02:fb:00:00:00:${NUMBER[$1]}"
	ip -n "$1" address add "$(mgmt_ip "$1")/24" dev eth1
	inside "$1" sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
}

cable_plug() { # HOST LINK BRIDGE
	ip -n sw link add "$1-$3" type veth peer name "$2" netns "$1"
	ip -n sw link set "$1-$3" master "$3" up
	ip -n "$1" link set "$2" up
}

# The cable between a host and a bridge, at the switch: the host loses its carrier.
cable_out() { # HOST BRIDGE
	ip -n sw link set "$1-$2" down
}

cable_in() { # HOST BRIDGE
	ip -n sw link set "$1-$2" up
}

# Drops what a node sends (out) or receives (in) on mgmt; the carrier stays. A table of our own.
mgmt_drop() { # NODE in|out|both
	local hooks=("$2") hook
	[[ $2 != both ]] || hooks=(in out)
	{
		echo "add table inet story"
		for hook in "${hooks[@]}"; do
			echo "add chain inet story $hook { type filter hook ${hook}put priority -200; }"
			echo "add rule inet story $hook ${hook:0:1}ifname eth1 drop"
		done
	} | inside "$1" nft -f -
}

mgmt_pass() { # NODE
	inside "$1" nft delete table inet story
}

# The power is gone: nothing leaves any more, then every process dies at once and with the namespace
# everything that the kernel kept. The LAN last: an owner that sees its carrier go while it can still
# talk to etcd hands over, and no power loss has been seen.
power_off() { # NODE
	local pids name
	ip -n sw -batch - <<<"link set $1-mgmt down
link set $1-lan down"
	pids=$(ip netns pids "$1")
	[[ ! -e /run/netns/pod-$1 ]] || pids+=" $(ip netns pids "pod-$1")"
	# shellcheck disable=SC2086
	kill -KILL $pids
	for name in "${!PID[@]}"; do
		[[ $name == *-"$1" ]] || continue
		wait "${PID[$name]}" 2>/dev/null || true
		unset "PID[$name]"
	done
	ip -n sw -batch - <<<"link delete $1-lan
link delete $1-mgmt"
	ip netns delete "$1"
	[[ ! -e /run/netns/pod-$1 ]] || ip netns delete "pod-$1"
}

# And it is back: a node without processes. The disk (etcd's data) has survived, /run has not.
power_on() { # NODE
	rm -rf "${T:?}/run-$1"
	node_up "$1"
	[[ -z ${TCP_IS_UP:-} ]] || tcp_serve "$1"
	[[ -z ${PODS_ARE_UP:-} ]] || pod_up "$1"
}

node_addresses() {
	local node
	echo "--- addresses"
	for node in "${NODES[@]}"; do
		[[ -e /run/netns/$node ]] || continue
		echo "$node: $(ip -n "$node" -brief address show eth0 2>&1)"
	done
}

ON_FAILURE+=(node_addresses)

# The nodes whose kernel has the VIP, in order.
holders() {
	local node found=()
	for node in "${NODES[@]}"; do
		if holds "$node"; then
			found+=("$node")
		fi
	done
	echo "${found[*]}"
}

holds() { # NODE
	[[ -e /run/netns/$1 && -n $(ip -n "$1" -oneline address show to "$VIP" 2>/dev/null) ]]
}

holds_not() { # NODE
	! holds "$1"
}

held_by() { # NODE...: exactly these
	[[ $(holders) == "$*" ]]
}

held_by_other_than() { # NODE
	local now
	now=$(holders)
	[[ -n $now && $now != *"$1"* && $now != *" "* ]]
}

held_by_one() {
	local now
	now=$(holders)
	[[ -n $now && $now != *" "* ]]
}
