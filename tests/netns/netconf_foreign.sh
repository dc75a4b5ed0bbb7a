#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Others live on the node too: a CNI with its routes, rules and links, a routing daemon, a VIP of
# vipd. What they had before a change, and what they make while it waits to be confirmed, is the same
# to the byte once it is undone, and once it is confirmed; of the VIP nobody even hears.
. "$(dirname "$0")/lib-netconf.sh"

node_new
mkdir -p "$T/files"

write() { # NAME ADDRESS_OF_ETH0 LINK_OF_THE_OTHER_NETWORK [DOCUMENT...]
	local name=$1 address=$2 other=$3
	shift 3
	{
		cat <<-YAML
			apiVersion: v1alpha1
			kind: LinkConfig
			name: eth0
			addresses:
			  - address: $address/24
			  - address: fd01::1/64
			routes:
			  - gateway: 10.1.0.254
			  - gateway: fd01::254
			---
			apiVersion: v1alpha1
			kind: $other
			addresses:
			  - address: 10.2.0.1/24
			routes:
			  - destination: 10.20.0.0/16
			    gateway: 10.2.0.254
		YAML
		[[ $# -eq 0 ]] || printf '%s\n' --- "$@"
	} | config_write "$name"
}

write old 10.1.0.1 $'LinkConfig\nname: eth1'
write new 10.1.0.2 $'BridgeConfig\nname: br0\nlinks: [eth1]\nmtu: 1400' \
	'apiVersion: v1alpha1' 'kind: RoutingRuleConfig' 'name: "1000"' 'src: 10.1.0.0/24' 'table: 100'

# A workload's link as a CNI makes it, with the kinds of routes that are seen with them.
workload() { # N
	ip -n n1 -batch - <<-BATCH
		link add cali$1 mtu 1450 type veth peer name pod$1 netns sw
		link set cali$1 up
		route add 10.244.0.$1 dev cali$1 scope link proto 80
		route add 10.244.$1.0/26 via 10.1.0.254 dev eth0 proto bird
		route add blackhole 10.245.$1.0/26 proto bird
		route add 10.246.$1.0/24 via 10.1.0.254 dev eth0 proto kernel mtu 1400
		route add 10.247.$1.0/24 via 10.2.0.253 dev eth1 proto zebra metric 20 onlink
		route add 10.248.$1.0/24 proto 186 nexthop via 10.1.0.251 dev eth0 weight 2 nexthop via 10.1.0.252 dev eth0
		route add 10.249.$1.0/24 via 10.1.0.254 dev eth0 table 5$1
		route add fd24::$1 dev cali$1 proto 80
		route add fd25:$1::/64 via fd01::254 dev eth0 proto bird metric 256
		rule add from 10.244.0.$1 lookup 5$1 priority 2$1 proto 80
		rule add fwmark 0x${1}00/0xf00 lookup 5$1 priority 3$1
		address add 10.1.0.20$1/32 dev eth0
		address add 169.254.1.$1/32 dev cali$1 scope link
		neighbour add proxy 169.254.1.1 dev cali$1
		neighbour add 10.244.0.$1 lladdr 02:00:00:00:00:0$1 dev cali$1 nud permanent
	BATCH
	ip -n sw link set "pod$1" up
	inside n1 "$TOOLS/vipaddress" add eth0 "10.1.0.10$1/32" 600
	inside n1 "$TOOLS/vipaddress" add eth0 "fd01::10$1/128" 600
}

# All that is not netconf's, as the kernel dumps it, but for what only says how a link stands.
theirs() {
	{
		ip -n n1 -d -j link show | jq -c '.[] | select(.ifname | startswith("cali"))'
		ip -n n1 -d -j address show |
			jq -c '.[] | .ifname as $link | .addr_info[] | select(.local | test("^(10.1.0.20|169)")) | [$link, .]'
		inside n1 "$TOOLS/vipaddress" list | grep 'proto 0xf1'
		ip -n n1 -d -j route show table all | jq -c '.[] | select(.dst | test("^10.24[4-9]"))'
		ip -n n1 -d -j -6 route show table all | jq -c '.[] | select(.dst | test("^fd2"))'
		ip -n n1 -d -j rule show | jq -c '.[] | select(.priority != 1000)'
		ip -n n1 -d -j neighbour show proxy
		ip -n n1 -d -j neighbour show nud permanent
	} | sort
}

are_theirs() { # FILE
	theirs | diff "$1" - >&"$OUT_FD"
}

the_dependent() {
	ip -n n1 -d -j route show 10.241.0.0/24
}

of_the_vips() {
	monitor_heard | grep -E 'inet6? (10\.1\.0\.10|fd01::10)[0-9]'
}

# Of eth0's own network; which of a network's addresses is the first one is the kernel's business.
neighbours_of_own() {
	ip -n n1 -d -j address show dev eth0 |
		jq -c '.[].addr_info[] | select(.local | test("^10.1.0.7[78]$")) | del(.secondary)' |
		sed 's/life_time":[0-9]*/life_time":/g'
	inside n1 "$TOOLS/vipaddress" list | grep '10.1.0.100/24'
	inside n1 sysctl net.ipv4.conf.eth0.promote_secondaries
}

netconf_start
apply old
fairlead n1 net confirm >/dev/null
workload 1
theirs >"$LOG_DIR/one"
expect_equal "their objects that there are to lose" "$(wc -l <"$LOG_DIR/one")" 21
# It lives by an address of netconf's that moves away, and can come back with it only.
ip -n n1 route add 10.241.0.0/24 via 10.2.0.254 dev eth1 proto bird src 10.2.0.1
dependent=$(the_dependent)
monitor_start

say "a change is made, and waits"
apply new
expect "it is there" grep -q 10.2.0.1/24 <(ip -n n1 -o address show dev br0)
expect "what others had is there" are_theirs "$LOG_DIR/one"

say "others go on meanwhile, and it is undone"
workload 2
theirs >"$LOG_DIR/two"
fairlead n1 net rollback >/dev/null
expect "all could be undone" status_is .last.left_undone ""
expect "the old network is there" grep -q 10.2.0.1/24 <(ip -n n1 -o address show dev eth1)
expect "what others have is there" are_theirs "$LOG_DIR/two"
expect_equal "what could not stay" "$(the_dependent)" "$dependent"
ip -n n1 route delete 10.241.0.0/24

say "the same, and it is confirmed"
apply new
workload 3
theirs >"$LOG_DIR/three"
fairlead n1 net confirm >/dev/null
expect "what others have is there" are_theirs "$LOG_DIR/three"

say "the node's own address moves, and others have some of its network: theirs stay, whatever the host promotes"
ip -n n1 address add 10.1.0.77/24 dev eth0
ip -n n1 address add 10.1.0.78/24 dev eth0 valid_lft 600 preferred_lft 300
inside n1 "$TOOLS/vipaddress" add eth0 10.1.0.100/24 600
for promote in 0 1; do
	inside n1 sysctl -qw "net.ipv4.conf.all.promote_secondaries=$promote" "net.ipv4.conf.eth0.promote_secondaries=$promote"
	neighbours_of_own >"$LOG_DIR/own-$promote"
	apply old
	neighbours_of_own | diff "$LOG_DIR/own-$promote" - >&"$OUT_FD"
	fairlead n1 net rollback >/dev/null
	neighbours_of_own | diff "$LOG_DIR/own-$promote" - >&"$OUT_FD"
	expect_equal "its own" "$(ip -n n1 -j -4 address show dev eth0 | jq -r '.[].addr_info[].local | select(test("^10.1.0.[0-9]$"))')" 10.1.0.2
done
expect_equal "what the kernel told of the VIPs: their coming" "$(of_the_vips | sed 's/.* inet/inet/; s/ scope.*//')" \
	$'inet 10.1.0.102/32\ninet6 fd01::102/128\ninet 10.1.0.103/32\ninet6 fd01::103/128\ninet 10.1.0.100/24'

say "an address that another's route leaves from is not deleted"
ip -n n1 route add 10.250.0.0/24 via 10.1.0.254 dev eth0 src 10.1.0.2 proto bird
code=0
apply old || code=$?
expect_equal "the exit code" "$code" 1
expect "it says whose" grep -q "it is the source of route 10.250.0.0/24 .* which belongs to BIRD" "$LOG_DIR/apply.log"
expect "nothing was begun" status_is .change null

say "what is lost for good is told before, and comes back if it is undone"
ip -n n1 route replace 10.250.0.0/24 via 10.2.0.253 dev br0 proto bird
sed -z 's|addresses:\n  - address: 10.2.0.1/24\nroutes:\n  - destination: 10.20.0.0/16\n    gateway: 10.2.0.254\n||' \
	"$T/new.yaml" | config_write less
apply less
expect "it is told" grep -q "^note: route 10.250.0.0/24 .* belongs to BIRD (protocol 12), is lost" "$LOG_DIR/apply.log"
expect_equal "it is lost" "$(ip -n n1 route show 10.250.0.0/24)" ""
fairlead n1 net rollback >/dev/null
expect "it is back" test -n "$(ip -n n1 route show 10.250.0.0/24 proto bird)"

say "a file that is not there is the same to all"
for verb in validate plan apply; do
	code=0
	fairlead n1 net "$verb" "$T/none.yaml" >"$LOG_DIR/none" 2>&1 || code=$?
	expect_equal "the exit code of $verb" "$code" 1
	expect "it is named" grep -q "none.yaml.*No such file" "$LOG_DIR/none"
done
