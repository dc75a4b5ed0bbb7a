#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A change is applied and confirmed; another is not confirmed in time and undone; one that cuts the
# way to the gateway undoes itself; one that is refused begins nothing. What others change meanwhile
# stays.
. "$(dirname "$0")/lib-netconf.sh"

node_new
mkdir -p "$T/files"
netconf_start

config_write good <<'YAML'
apiVersion: v1alpha1
kind: LinkConfig
name: eth0
addresses:
  - address: 10.1.0.1/24
routes:
  - gateway: 10.1.0.254
---
apiVersion: v1alpha1
kind: LinkConfig
name: eth1
addresses:
  - address: 10.2.0.1/24
---
apiVersion: fairlead/v1
kind: NetworkPolicyConfig
probes:
  timeout: 5s
YAML

say "the first change is applied, and confirmed"
apply good
expect "it says how to go on" grep -q "fairlead net confirm" "$LOG_DIR/apply.log"
expect "its steps are shown" grep -q "add address 10.1.0.1/24 dev eth0" "$LOG_DIR/apply.log"
status_is .change.phase awaiting
wait_until 10 reaches 10.1.0.254
fairlead n1 net confirm
expect "there is no change any more" status_is .change null
expect "it was confirmed" status_is .last.how confirmed
expect "what was confirmed is kept" grep -q 10.2.0.1/24 "$T/state/confirmed/config.yaml"
wait_until 10 nobody_guards
expect "no files are left of it" test ! -e "$T/state/transaction/state.json"

say "a second time there is nothing to do"
apply good
expect "it says so" grep -q "nothing to do" "$LOG_DIR/apply.log"

say "a change is not confirmed: the old network comes back, and what others did meanwhile stays"
network >"$LOG_DIR/before"
config_write other <<'YAML'
apiVersion: v1alpha1
kind: LinkConfig
name: eth0
mtu: 1300
addresses:
  - address: 10.1.0.1/24
  - address: 10.1.0.2/24
routes:
  - gateway: 10.1.0.254
    metric: 7
---
apiVersion: v1alpha1
kind: BridgeConfig
name: br0
links: [eth1]
addresses:
  - address: 10.2.0.7/24
YAML
apply other --confirm-within 12s
expect "the change is there" grep -q 10.2.0.7/24 <(ip -n n1 -o address show dev br0)
ip -n n1 route add 10.77.0.0/16 via 10.1.0.254 proto bird
ip -n n1 address add 10.1.0.99/32 dev eth0
wait_until 40 status_is .last.how rolled-back
expect "it says why" status_is .last.reason "nobody confirmed it in time"
expect "all could be undone" status_is .last.left_undone ""
expect "the route of another" grep -q '10.77.0.0/16 via 10.1.0.254' <(ip -n n1 route show proto bird)
ip -n n1 route delete 10.77.0.0/16 proto bird
expect "the address of another" grep -q 10.1.0.99/32 <(ip -n n1 -o address show dev eth0)
ip -n n1 address delete 10.1.0.99/32 dev eth0
expect "all else is as before" is_before
wait_until 10 reaches 10.1.0.254

say "a change is undone because the operator says so"
apply other
fairlead n1 net rollback
expect "it says why" status_is .last.reason "the operator asked for it"
expect "all is as before" is_before

say "a change that loses the gateway undoes itself"
sed 's/10\.1\.0\.254/10.1.0.200/' "$T/good.yaml" >"$T/cut.yaml"
code=0
apply cut || code=$?
expect_equal "the exit code" "$code" 1
expect "it says why" grep -q "undone: the default gateway of IPv4 no longer answers" "$LOG_DIR/apply.log"
expect "all is as before" is_before
wait_until 10 reaches 10.1.0.254

say "a change that would overwrite another's route is refused, and begins nothing"
ip -n n1 route add 10.88.0.0/16 via 10.1.0.254 proto bird metric 1024
network >"$LOG_DIR/before"
sed 's/^  - gateway: .*/&\n  - destination: 10.88.0.0\/16\n    gateway: 10.1.0.200/' "$T/good.yaml" >"$T/collision.yaml"
code=0
apply collision || code=$?
expect_equal "the exit code" "$code" 1
expect "it names the owner" grep -q "refused: .* belongs to BIRD" "$LOG_DIR/apply.log"
expect "nothing was begun" test ! -e "$T/state/transaction/state.json"
expect "all is as before" is_before

say "what the kernel refuses in mid-change is undone"
config_write bad <<'YAML'
apiVersion: v1alpha1
kind: LinkConfig
name: eth0
addresses:
  - address: 10.1.0.1/24
  - address: 10.1.0.3/24
routes:
  - gateway: 10.1.0.254
  - destination: 10.99.0.0/16
    gateway: 172.31.0.1
YAML
code=0
apply bad || code=$?
expect_equal "the exit code" "$code" 1
expect "the kernel's own words, and what to do" \
	grep -q "undone: .*: Nexthop has invalid gateway .*'onlink: true'" "$LOG_DIR/apply.log"
expect "all is as before" is_before

say "what was made by hand just as it is wanted becomes ours with a confirmation, and goes with the configuration"
ip -n n1 address add 10.3.0.1/24 dev eth1
ip -n n1 route add 10.98.0.0/16 via 10.3.0.254 metric 1024
config_write adopting <<'YAML'
apiVersion: v1alpha1
kind: LinkConfig
name: eth1
addresses:
  - address: 10.3.0.1/24
routes:
  - destination: 10.98.0.0/16
    gateway: 10.3.0.254
---
apiVersion: v1alpha1
kind: LinkConfig
name: eth0
addresses:
  - address: 10.1.0.1/24
routes:
  - gateway: 10.1.0.254
YAML
apply adopting
fairlead n1 net confirm
expect "the address is still there" grep -q 10.3.0.1/24 <(ip -n n1 -o address show dev eth1)
apply good
expect "the address is gone" test -z "$(ip -n n1 -o address show to 10.3.0.1/32)"
expect "the route is gone" test -z "$(ip -n n1 route show 10.98.0.0/16)"
fairlead n1 net rollback
expect "the address is back" grep -q 10.3.0.1/24 <(ip -n n1 -o address show dev eth1)
expect "the route is back" grep -q 'via 10.3.0.254' <(ip -n n1 route show 10.98.0.0/16)
apply good
fairlead n1 net confirm
expect "the address is gone for good" test -z "$(ip -n n1 -o address show to 10.3.0.1/32)"
