#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a configuration asks for beside the network: hosts, resolvers, features of a driver. Applied
# and confirmed, applied and not confirmed, cut short by a loss of power, refused; others' lines and
# settings stay as they are through all of it.
. "$(dirname "$0")/lib-netconf.sh"

# A folder of the story's own in the place of /etc, that it may change.
cp -a /etc "$T/etc"
mount --bind "$T/etc" /etc
rm -f /etc/resolv.conf
printf 'nameserver 192.0.2.53\noptions edns0\n' >/etc/resolv.conf
printf '127.0.0.1 localhost\n' >/etc/hosts

files() {
	stat -c '%n %a %u %F' /etc/hosts /etc/resolv.conf /etc/hostname
	cat /etc/hosts /etc/resolv.conf /etc/hostname
	feature tx-tcp-segmentation
}

feature() { # NAME
	inside n1 ethtool -k eth0 | sed -n "s/^[[:space:]]*$1: //p"
}

node_new
mkdir -p "$T/files"
netconf_start
expect_equal "the feature" "$(feature tx-tcp-segmentation)" on

config_write good <<'YAML'
apiVersion: v1alpha1
kind: LinkConfig
name: eth0
addresses:
  - address: 10.1.0.1/24
---
apiVersion: v1alpha1
kind: StaticHostConfig
name: 10.1.0.254
hostnames: [gateway.example.org, gateway]
---
apiVersion: v1alpha1
kind: EthernetConfig
name: eth0
features:
  tx-tcp-segmentation: true
YAML

config_write other <<'YAML'
apiVersion: v1alpha1
kind: LinkConfig
name: eth0
addresses:
  - address: 10.1.0.1/24
---
apiVersion: v1alpha1
kind: ResolverConfig
nameservers:
  - address: 10.1.0.254
searchDomains:
  domains: [example.org]
---
apiVersion: v1alpha1
kind: EthernetConfig
name: eth0
features:
  tx-tcp-segmentation: false
YAML

say "the plan is shown, and changes nothing"
files >"$LOG_DIR/before"
netconf --plan --config "$T/good.yaml" >"$LOG_DIR/plan"
expect "a file is in it" grep -q 'hitless *write /etc/hosts' "$LOG_DIR/plan"
files >"$LOG_DIR/planned"
expect "nothing has changed" cmp "$LOG_DIR/before" "$LOG_DIR/planned"

say "applied and confirmed"
apply good
expect "the name is known" grep -q '^10.1.0.254 gateway.example.org gateway$' /etc/hosts
expect "others' line, too" grep -q '^127.0.0.1 localhost$' /etc/hosts
fairlead n1 net confirm
expect "it was confirmed" status_is .last.how confirmed
apply good
expect "a second time there is nothing to do" grep -q "nothing to do" "$LOG_DIR/apply.log"

say "somebody takes the name away, and it comes back; a driver's setting is told"
wait_until 20 status_is .drift.state none
sed -i '/gateway/d' /etc/hosts
wait_until 30 grep -q '^10.1.0.254 gateway.example.org gateway$' /etc/hosts
wait_until 20 status_is .drift.state none
expect "it is counted" test "$(fairlead n1 -o json net status | jq .drift.repairs)" -ge 1
inside n1 ethtool -K eth0 tx-tcp-segmentation off
expect "the difference is shown" grep -q "blip .*eth0.*tx-tcp-segmentation" <(fairlead n1 net diff)
inside n1 ethtool -K eth0 tx-tcp-segmentation on

say "undone: all is as it was, but for what others have done"
files >"$LOG_DIR/before"
apply other --confirm-within 600s
expect "the resolver" grep -q '^nameserver 10.1.0.254$' /etc/resolv.conf
expect "theirs is set aside" grep -q '^# .*: nameserver 192.0.2.53$' /etc/resolv.conf
expect_equal "the feature" "$(feature tx-tcp-segmentation)" off
expect_equal "a name that is no longer wanted" "$(grep -c gateway /etc/hosts)" 0
echo '10.1.0.99 theirs' >>/etc/hosts
fairlead n1 net rollback
wait_until 40 status_is .last.how rolled-back
expect "all could be undone" status_is .last.left_undone ""
expect "their line" grep -q '^10.1.0.99 theirs$' /etc/hosts
sed -i '/theirs/d' /etc/hosts
files >"$LOG_DIR/after"
expect "all is as it was" diff "$LOG_DIR/before" "$LOG_DIR/after"

say "nobody confirms, and the daemon is killed: its guard undoes it"
apply other --confirm-within 5s
kill_hard netconf
wait_until 40 nobody_guards
files >"$LOG_DIR/after"
expect "all is as it was" diff "$LOG_DIR/before" "$LOG_DIR/after"

say "power is lost in the middle: the kernel is new, and the files are old"
netconf_start
apply other --confirm-within 600s
kill_hard netconf
kill -KILL "$(guard_pid)"
wait_until 10 nobody_guards
sed -i 's|"kernel": "[^"]*"|"kernel": "another/1"|' "$T/state/transaction/state.json"
netconf --once --config "$T/good.yaml" --state-dir "$T/state" >"$LOG_DIR/boot.log" 2>&1
inside n1 ethtool -K eth0 tx-tcp-segmentation on
files >"$LOG_DIR/after"
expect "all is as it was" diff "$LOG_DIR/before" "$LOG_DIR/after"

say "what a driver cannot is refused, and nothing is begun; at the boot, the rest is done"
config_write impossible <<'YAML'
apiVersion: v1alpha1
kind: LinkConfig
name: eth0
addresses:
  - address: 10.1.0.1/24
---
apiVersion: v1alpha1
kind: StaticHostConfig
name: 10.1.0.254
hostnames: [other]
---
apiVersion: v1alpha1
kind: EthernetConfig
name: eth0
rings:
  rx: 512
YAML
netconf_start
code=0
apply impossible || code=$?
expect "it is refused" test "$code" -ne 0
expect "it says why" grep -q "eth0: its driver has no rings.rx" "$LOG_DIR/apply.log"
files >"$LOG_DIR/after"
expect "all is as it was" diff "$LOG_DIR/before" "$LOG_DIR/after"
code=0
netconf_once impossible || code=$?
expect_equal "the exit code of the boot" "$code" 1
expect "it says why, too" log_says netconf-once 'refused.*its driver has no rings.rx'
expect "the rest is done" grep -q '^10.1.0.254 other$' /etc/hosts
