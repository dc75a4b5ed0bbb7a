#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A node gets its network from a configuration: links, addresses, routes, rules, a bridge. A second
# time nothing is written. What others have made stays as it is through a change and its reversal,
# and what would overwrite it is refused and says whose it is.
. "$(dirname "$0")/lib-netconf.sh"

node_new
inside n1 sysctl -qw net.ipv4.conf.all.promote_secondaries=0 net.ipv4.conf.eth1.promote_secondaries=0

config_write first <<'YAML'
apiVersion: v1alpha1
kind: LinkConfig
name: enp0s31f6-of-the-node
mtu: 1400
addresses:
  - address: 10.1.0.1/24
    routePriority: 77
  - address: fd01::1/64
routes:
  - gateway: 10.1.0.254
  - gateway: fd01::254
  - destination: 10.9.0.0/16
    gateway: 10.1.0.254
    metric: 50
    table: 100
---
apiVersion: v1alpha1
kind: BridgeConfig
name: br0
links: [eth1]
addresses:
  - address: 10.2.0.1/24
---
apiVersion: v1alpha1
kind: RoutingRuleConfig
name: "1000"
src: 10.1.0.0/24
table: 100
---
apiVersion: v1alpha1
kind: BlackholeRouteConfig
name: 10.66.0.0/16
---
machine:
  network:
    interfaces:
      - interface: other0
        ignore: true
YAML

say "others have been here before"
ip -n n1 link property add dev eth0 altname enp0s31f6-of-the-node
ip -n n1 address add 10.1.0.77/32 dev eth0
ip -n n1 address add 10.1.0.88/24 dev eth0
ip -n n1 link add other0 type bridge
ip -n n1 link set other0 up
ip -n n1 route add 10.50.0.0/16 dev eth0 proto bird metric 20
ip -n n1 rule add from 10.50.0.0/16 lookup 50 priority 500
network >"$LOG_DIR/before"

# What is on a link that is to be ignored stays, even with our mark.
ip -n n1 route add 10.44.0.0/16 dev other0 proto 242
is_ignored() {
	ip -n n1 route show proto 242 | has_line "10.44.0.0/16 dev other0"
}

say "the plan is shown, and changes nothing"
fairlead n1 net validate "$T/first.yaml"
sed 's/^mtu: 1400/mtu: 14/' "$T/first.yaml" >"$T/wrong.yaml"
code=0
fairlead n1 net validate "$T/wrong.yaml" >"$LOG_DIR/wrong" 2>&1 || code=$?
expect_equal "the exit code of what is wrong" "$code" 1
expect "it says where" grep -q "wrong.yaml:4:6: .*mtu" "$LOG_DIR/wrong"
network >"$LOG_DIR/before-plan"
fairlead n1 net plan "$T/first.yaml" >"$LOG_DIR/plan"
expect "the plan has the bridge" grep -q 'hitless .* create bridge br0' "$LOG_DIR/plan"
network >"$LOG_DIR/planned"
expect "a plan changes nothing" cmp "$LOG_DIR/before-plan" "$LOG_DIR/planned"

say "the first time"
netconf_once first
wait_until 10 reaches 10.1.0.254
wait_until 10 reaches 10.2.0.254
wait_until 10 reaches fd01::254
expect "routes are marked" grep -q 'default via 10.1.0.254 dev eth0 proto 242' <(ip -n n1 route show)
expect_equal "the MTU" "$(ip -n n1 -j link show eth0 | jq '.[0].mtu')" 1400
expect "the priority of an address's network" grep -q '10.1.0.1/24 metric 77' <(ip -n n1 -o address show dev eth0)
expect "a link that is ignored" is_ignored
expect "a route of another table" grep -q '10.9.0.0/16 via 10.1.0.254' <(ip -n n1 route show table 100)
expect "a rule" grep -q '^1000:.*from 10.1.0.0/24 lookup 100 proto 242' <(ip -n n1 rule show)

say "the second time nothing is written"
expect_equal "the plan" "$(netconf --plan --config "$T/first.yaml")" "nothing to do"
monitor_start
netconf_once first
expect_equal "messages of the kernel" "$(monitor_heard)" ""

say "a route of ours takes another way in place, and what is no longer wanted goes; the link is chosen by what it is"
mac=$(ip -n n1 -j link show eth0 | jq -r '.[0].address')
config_write second <<YAML
apiVersion: v1alpha1
kind: LinkAliasConfig
name: uplink
selector:
  match: mac(link.hardware_addr) == "$mac" && link.driver == "veth"
---
apiVersion: v1alpha1
kind: LinkConfig
name: uplink
mtu: 1400
addresses:
  - address: 10.1.0.1/24
  - address: fd01::2/64
routes:
  - gateway: 10.1.0.254
    mtu: 1300
  - destination: 10.9.0.0/16
    gateway: 10.1.0.254
    metric: 60
    table: 100
---
apiVersion: v1alpha1
kind: BridgeConfig
name: br0
links: [eth1]
---
machine:
  network:
    interfaces:
      - interface: other0
        ignore: true
YAML
netconf_once second
expect "a link that is ignored" is_ignored
expect_equal "the rule" "$(ip -n n1 rule show priority 1000)" ""
expect "the new metric" grep -q 'metric 60' <(ip -n n1 route show table 100)
expect "the new MTU" grep -q 'default via 10.1.0.254 .* mtu 1300' <(ip -n n1 route show)
expect_equal "the old address" "$(ip -n n1 address show to fd01::1/128)" ""
wait_until 10 reaches 10.1.0.254

say "back to nothing: all is as others left it"
config_write nothing <<YAML
machine:
  network:
    interfaces:
      - deviceSelector: {hardwareAddr: "$mac", driver: vet*}
        mtu: 1500
YAML
netconf_once nothing
network >"$LOG_DIR/after"
expect "all is as it was before" diff "$LOG_DIR/before" "$LOG_DIR/after"

say "another program's route stands where one of ours should: refused, and it says whose it is"
ip -n n1 route add default via 10.1.0.254 dev eth0 proto static metric 1024 onlink
config_write collision <<'YAML'
apiVersion: v1alpha1
kind: LinkConfig
name: eth0
addresses:
  - address: 10.1.0.1/24
routes:
  - gateway: 10.1.0.253
YAML
network >"$LOG_DIR/before"
code=0
netconf_once collision || code=$?
expect_equal "the exit code" "$code" 1
expect "whose it is" log_says netconf-once 'refused.*collision.yaml:7.*an administrator \(protocol 4\)'
expect "their route is as it was" \
	grep -q 'default via 10.1.0.254 dev eth0 proto static' <(ip -n n1 route show)
expect "the rest is done" grep -q 10.1.0.1/24 <(ip -n n1 -o address show dev eth0)

say "a link that is not there delays only what depends on it"
config_write missing <<'YAML'
apiVersion: v1alpha1
kind: LinkConfig
name: eth7
addresses:
  - address: 10.7.0.1/24
---
apiVersion: v1alpha1
kind: LinkConfig
name: eth1
addresses:
  - address: 10.2.0.9/24
YAML
netconf_once missing
expect "what can be had" grep -q 10.2.0.9/24 <(ip -n n1 -o address show dev eth1)
expect "it says so" log_says netconf-once "waiting.*'eth7'"

say "an address of ours goes, and no other of its subnet with it, not even for a moment"
ip -n n1 -batch - <<BATCH
address add 10.2.0.77/24 dev eth1 label eth1:theirs
address add 10.2.0.78/24 dev eth1 valid_lft 900 preferred_lft 900
BATCH
sed 's|10.2.0.9/24|10.2.0.10/24|' "$T/missing.yaml" | config_write other
monitor_start
netconf_once other
monitor_heard >"$LOG_DIR/heard"
expect "it went" grep -q 'Deleted.* inet 10.2.0.9/24' "$LOG_DIR/heard"
expect_equal "what went with it" "$(grep 'Deleted.* inet 10.2.0.7' "$LOG_DIR/heard" || true)" ""
expect_equal "the addresses" \
	"$(ip -n n1 -j -4 address show dev eth1 | jq -r '.[0].addr_info | map(.local) | sort | join(" ")')" \
	"10.2.0.10 10.2.0.77 10.2.0.78"
expect "a lifetime goes on" grep -q '10.2.0.78/24.*dynamic' <(ip -n n1 -o address show dev eth1)
expect_equal "the setting" "$(inside n1 sysctl -n net.ipv4.conf.eth1.promote_secondaries)" 0
