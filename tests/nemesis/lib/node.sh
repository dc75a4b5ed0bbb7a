# SPDX-License-Identifier: Apache-2.0
# All four daemons on every node, as a service manager would have them: one that ends is started again.
# Each node has a disk of its own, small enough to be filled, and a wall clock of its own for vipd and
# etcdwatch (libfaketime). What others have put into its network is noted once, and must be there in the end.

DAEMONS=(vipd prism etcdwatch netconf)
DISK_MIB=48

declare -gA VARIANT=()  # DAEMON-NODE -> which of its configurations it has
declare -gA EXPECTED=() # process that is to run -> yes; who is not in it was ended on purpose

PKI_CLOCK=-90000s # certificates stay valid when a clock jumps back
PKI_DAYS=60
PRISM_LISTEN=127.0.0.1:7445
AHEAD=0

# On the node's own disk.
etcdwatch_directory() { # NODE
	echo "$T/disk-$1/snapshots"
}

node_disk() { # NODE
	mkdir -p "$T/disk-$1"
	mount -t tmpfs -o "size=${DISK_MIB}m,mode=755" tmpfs "$T/disk-$1"
	install -d -o nobody -m 700 "$T/disk-$1/snapshots" "$T/disk-$1/prism"
	install -d -m 700 "$T/disk-$1/netconf"
}

node_clock() { # NODE SECONDS that its wall clock is ahead
	printf '%+d\n' "$2" >"$T/clock-$1.new"
	mv "$T/clock-$1.new" "$T/clock-$1"
}

clock_variables() { # NODE
	echo "LD_PRELOAD=$CLOCK_PRELOAD FAKETIME_TIMESTAMP_FILE=$T/clock-$1 FAKETIME_CACHE_DURATION=1 DONT_FAKE_MONOTONIC=1"
}

# What only some configurations of a daemon say. The sixth of each cannot work, and is refused. None has
# `fence: lifetime`: that does not end what a node translates.
vipd_variant() { # NUMBER
	case $1 in
	1) echo "priority: 150" ;;
	2) printf '%s\n' "priority: 200" "preempt: true" ;;
	3) echo "fenceWindow: 2s" ;;
	4) echo "fenceWindow: 4s" ;;
	5) echo "fence: none" ;;
	esac
	echo "holdDown: 1s"
}

prism_variant() { # NUMBER
	case $1 in
	1) echo "interval: 1s" ;;
	2) echo "timeout: 500ms" ;;
	3) echo "rise: 1" ;;
	4) echo "suspectInterval: 300ms" ;;
	5) echo "rise: none" ;;
	esac
}

etcdwatch_variant() { # NUMBER
	echo "retention: {last: $((40 + $1))}"
	[[ $1 -ne 5 ]] || echo "reserve: none"
}

node_configure() { # DAEMON NODE
	local number=${VARIANT[$1-$2]:-0}
	case $1 in
	vipd)
		NODE_POLICY[$2]=$(vipd_variant "$number")
		vipd_config "$2" >"$T/vipd-$2.yaml"
		;;
	prism)
		PRISM_HEALTH=$(prism_variant "$number")
		PRISM_STATE=$T/disk-$2/prism prism_configure "$2"
		;;
	etcdwatch)
		EW_MORE=$(etcdwatch_variant "$number")
		etcdwatch_config "$2" >"$T/etcdwatch-$2.yaml"
		;;
	netconf) net_config "$2" "$number" >"$T/net-$2.yaml" ;;
	esac
}

net_config() { # NODE NUMBER
	cat <<-YAML
		apiVersion: v1alpha1
		kind: LinkConfig
		name: eth0
		addresses:
		  - address: 10.86.1.${NUMBER[$1]}/24
		routes:
		  - destination: 10.90.$2.0/24
		    gateway: 10.86.0.21
		---
		apiVersion: fairlead/v1
		kind: NetworkPolicyConfig
		probes: {gateways: false, etcd: false}
	YAML
	[[ $2 -ne 5 ]] || printf -- '---\nkind: None\n'
}

# A process that cannot work with its configuration would end at once.
node_start() { # DAEMON NODE
	[[ ${VARIANT[$1-$2]:-0} -ne 5 ]] || VARIANT[$1-$2]=0
	case $1 in
	vipd)
		node_configure vipd "$2"
		# shellcheck disable=SC2046
		VIPD_ENV=($(clock_variables "$2"))
		vipd_start "$2"
		;;
	prism)
		node_configure prism "$2"
		PRISM_AT=$2 prism_spawn "$2"
		;;
	etcdwatch)
		EW_MORE=$(etcdwatch_variant "${VARIANT[$1-$2]:-0}")
		# shellcheck disable=SC2046
		EW_ENV=($(clock_variables "$2"))
		etcdwatch_start "$2"
		;;
	netconf)
		mkdir -p "$T/files" "$T/run-$2"
		spawn "netconf-$2" "$2" "$NETCONF" --config "$T/files" --runtime-dir "$T/run-$2" \
			--state-dir "$T/disk-$2/netconf"
		;;
	etcd) etcd_start "$2" ;;
	api) api_start "$2" ;;
	esac
	EXPECTED[$1-$2]=yes
	event "started $1-$2"
}

# It is to end now, and that is no failure of its own.
node_kill() { # SIGNAL DAEMON NODE
	alive "$2-$3" || return 1
	unset "EXPECTED[$2-$3]"
	event "down $2-$3"
	kill "-$1" "${PID[$2-$3]}"
}

# Who has ended without being told to is noted with how, and started again.
node_reap() {
	local name code
	for name in "${!EXPECTED[@]}"; do
		alive "$name" && continue
		code=0
		wait "${PID[$name]}" 2>/dev/null || code=$?
		event "died $name $code"
		node_start "${name%-*}" "${name#*-}"
	done
}

# It is started again as soon as it is gone: one that is stopped or frozen goes later.
declare -gA REVIVE=() # DAEMON-NODE

node_revive() { # DAEMON NODE
	[[ -n ${EXPECTED[$1-$2]:-} ]] || REVIVE[$1-$2]=yes
}

node_revive_gone() {
	local name
	for name in "${!REVIVE[@]}"; do
		gone "$name" || continue
		unset "REVIVE[$name]"
		[[ -z ${PID[$name]:-} ]] || wait "${PID[$name]}" 2>/dev/null || :
		node_start "${name%-*}" "${name#*-}"
	done
}

# All run that ought to; true when they do.
nodes_are_up() {
	local node daemon
	for node in "${NODES[@]}"; do
		for daemon in "${DAEMONS[@]}" api; do
			node_revive "$daemon" "$node"
		done
	done
	node_revive_gone
	[[ ${#REVIVE[@]} -eq 0 ]]
}

# --- what others have there --------------------------------------------------------------------------

foreign_make() { # NODE
	ip -n "$1" -batch - <<-BATCH
		address add 192.0.2.${NUMBER[$1]}/32 dev eth0
		address add 10.86.0.2${NUMBER[$1]}/32 dev eth0
		route add 10.244.1.0/24 via 10.86.0.31 dev eth0 proto bird metric 20
		route add blackhole 10.245.1.0/26 proto bird
		route add 10.249.1.0/24 via 10.86.0.31 dev eth0 table 51
		route add fd25:1::/64 via fd86::31 dev eth0 proto bird metric 256
		rule add from 10.244.0.1 lookup 51 priority 21 proto 80
		rule add fwmark 0x100/0xf00 lookup 51 priority 31
	BATCH
}

foreign_show() { # NODE
	{
		ip -n "$1" -o address show dev eth0 to 192.0.2.0/24
		ip -n "$1" -o address show dev eth0 to "10.86.0.2${NUMBER[$1]}/32"
		ip -n "$1" -d route show table all proto bird
		ip -n "$1" -6 -d route show table all proto bird
		ip -n "$1" -d route show table 51
		ip -n "$1" rule show
	} | sed 's/ valid_lft .*//; s/ linkdown//'
}

# --- how it is ---------------------------------------------------------------------------------------

# Descriptors and resident memory of each daemon: "usage DAEMON-NODE PID FDS RSS_KIB".
node_usage() {
	local node daemon pid rss
	for node in "${NODES[@]}"; do
		for daemon in "${DAEMONS[@]}"; do
			pid=${PID[$daemon-$node]}
			rss=$(awk '$1 == "VmRSS:" { print $2 }' "/proc/$pid/status") || continue
			event "usage $daemon-$node $pid $(find "/proc/$pid/fd" -mindepth 1 | wc -l) $rss"
		done
	done
}

# Each of them answers.
node_answers() { # NODE
	fairlead "$1" -o json vip status >/dev/null && fairlead "$1" -o json prism status >/dev/null &&
		fairlead "$1" -o json etcd snapshot jobs >/dev/null && fairlead "$1" -o json net status >/dev/null
}

all_answer() {
	local node
	for node in "${NODES[@]}"; do
		node_answers "$node" || return 1
	done
}

prisms_are_ready() {
	local node
	for node in "${NODES[@]}"; do
		[[ $(prism_all "$node" '[.[1:][] | select(.state == "ready")] | length') -eq ${#NODES[@]} ]] || return 1
	done
}

networks_are_right() {
	local node
	for node in "${NODES[@]}"; do
		[[ $(fairlead "$node" -o json net status | jq -r '.drift.state') == none ]] || return 1
		[[ $(fairlead "$node" -o json net status | jq -r '.change') == null ]] || return 1
	done
}
