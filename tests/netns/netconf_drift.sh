#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What was confirmed stays: what somebody deletes comes back, what waited for its link is made when that
# comes, what would cost frames is only told, and whoever sets it back again and again wins, loudly.
. "$(dirname "$0")/lib-netconf.sh"

node_new
mkdir -p "$T/files"
config_write net <<'YAML'
apiVersion: v1alpha1
kind: LinkConfig
name: eth0
addresses:
  - address: 10.1.0.1/24
routes:
  - gateway: 10.1.0.254
---
apiVersion: v1alpha1
kind: BridgeConfig
name: br0
links: [eth1]
---
apiVersion: v1alpha1
kind: LinkConfig
name: eth7
up: true
addresses:
  - address: 10.7.0.1/24
YAML
netconf_start
apply net
fairlead n1 net confirm
wait_until 10 status_is .drift.state none
expect "one link is waited for" test "$(fairlead n1 -o json net status | jq .drift.waiting)" -ge 1

has() { # TEXT COMMAND...: `ip` says it
	local text=$1
	shift
	grep -qF "$text" <(ip -n n1 "$@")
}

# What the kernel could not tell, because its one listener did not read.
messages_lost() {
	inside n1 cat /proc/net/netlink | awk '$4 != "00000000" { lost += $9 } END { print lost + 0 }'
}

say "an address and a route are deleted by somebody"
ip -n n1 address delete 10.1.0.1/24 dev eth0
wait_until 20 has "inet 10.1.0.1/24" -o address show dev eth0
wait_until 20 has "default via 10.1.0.254" route show
wait_until 20 status_is .drift.state none
expect "it is counted" test "$(fairlead n1 -o json net status | jq .drift.repairs)" -ge 2

say "the link that was waited for comes"
ip -n n1 link add eth7 type veth peer name other7
wait_until 20 has "inet 10.7.0.1/24" -o address show dev eth7

say "what others add is left alone"
ip -n n1 route add 10.77.0.0/16 via 10.1.0.254 proto bird
ip -n n1 address add 10.1.0.99/32 dev eth0
wait_until 20 status_is .drift.state none

say "thousands of routes come and go while netconf does not listen, and the address with them"
signal STOP netconf
{
	seq -f 'route add blackhole 10.200.%g.0/32 metric 5' 0 255
	for i in {210..225}; do
		seq -f "route add blackhole 10.$i.0.%g/32 metric 5" 0 255
	done
	echo "address delete 10.7.0.1/24 dev eth7"
	for i in {210..225}; do
		seq -f "route delete blackhole 10.$i.0.%g/32 metric 5" 0 255
	done
} >"$T/flood"
ip -n n1 -force -batch "$T/flood" >/dev/null
expect "messages to it were lost" test "$(messages_lost)" -gt 0
expect_equal "the address" "$(ip -n n1 -o address show dev eth7 to 10.7.0.1)" ""
signal CONT netconf
wait_until 30 has "inet 10.7.0.1/24" -o address show dev eth7
wait_until 20 status_is .drift.state none

say "a port is taken from its bridge, and used: to take it back would cost frames, and is told"
printf '%s\n' 'link set eth1 nomaster' 'address add 10.2.0.77/24 dev eth1' | ip -n n1 -batch -
wait_until 20 status_is .drift.first "set eth1 master br0"
for_seconds 2 status_is .drift.state differs
expect "the difference is shown" grep -q "blip .* set eth1 master br0" <(fairlead n1 net diff)

say "nobody uses it any more: it is a port again"
ip -n n1 address delete 10.2.0.77/24 dev eth1
wait_until 20 has "eth1@" link show master br0
wait_until 20 status_is .drift.state none

say "somebody deletes an address whenever it is there"
while ! status_is .drift.state fight; do
	[[ $(now_cs) -lt $((BEGAN_CS + 9000)) ]] || fail "no fight was seen"
	ip -n n1 address delete 10.1.0.1/24 dev eth0 2>/dev/null || true
	nap 0.2
done
expect "it says so" log_says netconf drift_fight
ip -n n1 address delete 10.1.0.1/24 dev eth0 2>/dev/null || true
for_seconds 3 test -z "$(ip -n n1 -o address show dev eth0 to 10.1.0.1/32)"
expect "it is told to people" grep -q "somebody sets it back" <(fairlead n1 net status)

say "the next change of the configuration sets it right"
apply net
fairlead n1 net confirm
expect "the address" has "inet 10.1.0.1/24" -o address show dev eth0
wait_until 20 status_is .drift.state none
