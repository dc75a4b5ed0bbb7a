#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What answered before a change and answers no more after it has the change undone: a TCP port, a URL,
# the API server that kubelet talks to, a member of etcd that this node talks to, a default gateway of
# IPv6 (netconf_transaction has that of IPv4).
# What had not answered before does not count, and what the operator did not ask for is not tried. So
# is one that gives the node an address which another host has.
. "$(dirname "$0")/lib-netconf.sh"

node_new
mkdir -p "$T/files"
spawn tcp sw socat TCP-LISTEN:9000,fork,reuseaddr OPEN:/dev/null
cat >"$T/answer" <<'SH'
#!/bin/sh
while read -r line && [ "${#line}" -gt 1 ]; do :; done
printf 'HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n'
SH
chmod 755 "$T/answer"
spawn http sw socat TCP-LISTEN:9001,fork,reuseaddr "EXEC:$T/answer"
listens() { # PORT
	inside sw ss -Hltn "sport = :$1" | has_line .
}
wait_until 10 listens 9000
wait_until 10 listens 9001
netconf_start

probes='timeout: 1s, gateways: false, duplicates: false'
write() { # NAME ADDRESS_OF_ETH1 PROBE_KIND PROBE
	config_write "$1" <<-YAML
		apiVersion: v1alpha1
		kind: LinkConfig
		name: eth0
		addresses: [{address: 10.1.0.1/24}]
		---
		apiVersion: v1alpha1
		kind: LinkConfig
		name: eth1
		addresses: [{address: $2}]
		---
		apiVersion: fairlead/v1
		kind: NetworkPolicyConfig
		probes: {$probes}
		---
		apiVersion: v1alpha1
		kind: $3
		name: other-side
		timeout: 1s
		$4
	YAML
}

is_undone_for() { # NAME WHAT
	local code=0
	apply "$1" || code=$?
	expect_equal "the exit code" "$code" 1
	expect "it says why" status_is .last.reason "$2 no longer answers"
	expect "the old address" grep -q 10.2.0.1/24 <(ip -n n1 -o address show dev eth1)
}

write good 10.2.0.1/24 TCPProbeConfig "endpoint: 10.2.0.254:9000"
apply good
fairlead n1 net confirm

say "a TCP port that is lost"
write cut 10.22.0.1/24 TCPProbeConfig "endpoint: 10.2.0.254:9000"
is_undone_for cut "other-side (TCP 10.2.0.254 port 9000)"

say "a URL that is lost"
write cut 10.22.0.1/24 HTTPProbeConfig "url: http://10.2.0.254:9001/"
is_undone_for cut "other-side (http://10.2.0.254:9001/)"

say "the API server that is lost, and a member of etcd"
cp -a /etc "$T/etc"
mount --bind "$T/etc" /etc
mkdir -p /etc/kubernetes
printf '%s\n' 'clusters:' '- cluster:' '    server: https://10.2.0.254:6443' >/etc/kubernetes/kubelet.conf
spawn api sw socat TCP-LISTEN:6443,fork,reuseaddr OPEN:/dev/null
wait_until 10 listens 6443
write cut 10.22.0.1/24 TCPProbeConfig "endpoint: 10.9.9.9:9"
is_undone_for cut "the API server (TCP 10.2.0.254 port 6443)"
rm /etc/kubernetes/kubelet.conf
spawn etcd sw socat TCP-LISTEN:2380,fork,reuseaddr EXEC:cat
wait_until 10 listens 2380
spawn member n1 socat TCP:10.2.0.254:2380 EXEC:'sleep 1000'
talks() {
	inside n1 ss -Htn state established 'dport = :2380' | has_line .
}
wait_until 10 talks
is_undone_for cut "a member of etcd (TCP 10.2.0.254 port 2380)"
kill_hard member etcd api

say "it had not answered before"
kill_hard tcp http
write cut 10.22.0.1/24 TCPProbeConfig "endpoint: 10.2.0.254:9000"
apply cut
expect "it is the operator's turn" status_is .change.phase awaiting
fairlead n1 net confirm
expect "it stays" grep -q 10.22.0.1/24 <(ip -n n1 -o address show dev eth1)

say "a default gateway of IPv6 that is lost"
probes='timeout: 1s, duplicates: false'
gateway6() { # NAME GATEWAY
	write "$1" 10.22.0.1/24 TCPProbeConfig "endpoint: 10.9.9.9:9"
	sed -i "s|10.22.0.1/24}]|10.22.0.1/24}, {address: 'fd02::1/64'}]\nroutes: [{gateway: 'fd02::$2'}]|" "$T/$1.yaml"
}
gateway6 good 254
apply good
fairlead n1 net confirm >/dev/null
gateway6 cut 99
code=0
apply cut || code=$?
expect_equal "the exit code" "$code" 1
expect "it says why" status_is .last.reason "the default gateway of IPv6 no longer answers"
expect "the old gateway" grep -q '^default via fd02::254' <(ip -n n1 -6 route show dev eth1)

say "another host has the new address"
probes='timeout: 1s, gateways: false'
ip -n sw address add fd02::7/64 dev leg1
inside n1 sysctl -qw net.ipv6.conf.eth1.accept_dad=1
write duplicate 10.22.0.1/24 TCPProbeConfig "endpoint: 10.2.0.254:9000"
sed -i 's|10.22.0.1/24}|&, {address: "fd02::7/64"}|' "$T/duplicate.yaml"
code=0
apply duplicate || code=$?
expect_equal "the exit code" "$code" 1
expect "it says whose" status_is .last.reason "another host on eth1 has the address fd02::7 (duplicate address detection)"
expect_equal "the address" "$(ip -n n1 -o address show dev eth1 to fd02::7)" ""

say "nobody has it any more"
ip -n sw address delete fd02::7/64 dev leg1
apply duplicate
fairlead n1 net confirm >/dev/null
expect "it is there" test -n "$(ip -n n1 -o address show dev eth1 to fd02::7)"
expect "it is nobody's else" test -z "$(ip -n n1 -o address show dev eth1 to fd02::7 tentative)"

say "another host takes it, and the link goes down and up: that is told"
ip -n sw address add fd02::7/64 dev leg1
ip -n n1 link set eth1 down
ip -n n1 link set eth1 up
wait_until 30 status_is .drift.duplicate "fd02::7 dev eth1"
expect "it is told to people" grep -q "another host has an address.* fd02::7 dev eth1" <(fairlead n1 net status)

say "another host has the new address of IPv4: nothing is begun"
mac_of() { # LINK
	ip -n sw -j link show "$1" | jq -r '.[0].address'
}
ip -n sw address add 10.22.0.7/24 dev leg1
was=$(fairlead n1 -o json net status | jq -r .last.id)
write duplicate 10.22.0.7/24 TCPProbeConfig "endpoint: 10.2.0.254:9000"
code=0
apply duplicate || code=$?
expect_equal "the exit code" "$code" 1
expect "it says whose" grep -q "another host on eth1 has the address 10.22.0.7: $(mac_of leg1) answers for it" "$LOG_DIR/apply.log"
expect "nothing was begun" status_is .last.id "$was"
expect_equal "nobody was told of the address" "$(ip -n sw neigh show to 10.22.0.7)" ""

say "on a link that only comes up with the change: it is undone"
ip -n n1 link add eth2 type veth peer name leg2 netns sw
ip -n sw address add 10.3.0.7/24 dev leg2
ip -n sw link set leg2 up
write duplicate 10.22.0.1/24 TCPProbeConfig "endpoint: 10.2.0.254:9000"
sed -i 's|name: eth1|name: eth2|; s|10.22.0.1/24|10.3.0.7/24|' "$T/duplicate.yaml"
code=0
apply duplicate || code=$?
expect_equal "the exit code" "$code" 1
expect "it says whose" status_is .last.reason "another host on eth2 has the address 10.3.0.7: $(mac_of leg2) answers for it"
expect_equal "the address" "$(ip -n n1 -4 -o address show dev eth2)" ""

say "where nobody is to be asked"
sed -i 's|gateways: false|&, duplicates: false|' "$T/duplicate.yaml"
apply duplicate
expect "it is there" test -n "$(ip -n n1 -4 -o address show dev eth2 to 10.3.0.7)"
fairlead n1 net confirm >/dev/null

say "the link stays, and leads to another host that has its address: it is undone"
bridge() { # PORTS
	cat <<-YAML
		apiVersion: v1alpha1
		kind: BridgeConfig
		name: br0
		links: [$1]
		addresses: [{address: 10.3.0.7/24}]
	YAML
}
inside sw sysctl -qw net.ipv4.conf.all.arp_ignore=1
bridge eth1 | config_write one
apply one
fairlead n1 net confirm >/dev/null
expect "nobody on eth1 has it" grep -q 10.3.0.7/24 <(ip -n n1 -o address show dev br0)
bridge "eth1, eth2" | config_write both
code=0
apply both || code=$?
expect_equal "the exit code" "$code" 1
expect "it says whose" status_is .last.reason "another host on br0 has the address 10.3.0.7: $(mac_of leg2) answers for it"
expect_equal "the ports" "$(ip -n n1 -o link show master br0 | grep -c .)" 1
