#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A change cannot be undone as a whole: the way back is kept, and the next start and the operator try
# again, until it can be, or the operator gives it up. Where the files of a change are damaged, the
# daemon serves all the same, says so, and touches nothing until the operator decides.
. "$(dirname "$0")/lib-netconf.sh"

NETCONF_DAEMON=$BUILD/tests/fault/netconf-dies
export NETCONF_UNDO_S=1 FAIRLEAD_TIMEOUT=60

# The client's own files belong to the story.
mount -t tmpfs none /var/lib/dhcpcd

node_new
mkdir -p "$T/files"
netconf_start

# What the client's hook writes; no server answers, so that nobody else does.
lease() { # SECONDS
	local uptime
	read -r uptime _ </proc/uptime
	printf '%s\0' reason=RENEW new_ip_address=10.3.0.9 new_subnet_cidr=24 "new_dhcp_lease_time=$1" \
		"fairlead_uptime=$uptime" >"$T/run-n1/dhcp4-eth1.lease.new"
	mv "$T/run-n1/dhcp4-eth1.lease.new" "$T/run-n1/dhcp4-eth1.lease"
}

lasts_longer() {
	grep -qE 'valid_lft (7[01]|6[0-9])[0-9]{2}sec' <(ip -n n1 address show dev eth1 to 10.3.0.9)
}

config_write old <<'YAML'
apiVersion: v1alpha1
kind: LinkConfig
name: eth0
addresses:
  - address: 10.1.0.1/24
---
apiVersion: v1alpha1
kind: LinkConfig
name: eth1
routes:
  - destination: 10.99.0.0/16
    gateway: 10.2.0.254
---
apiVersion: v1alpha1
kind: DHCPv4Config
name: eth1
---
apiVersion: fairlead/v1
kind: NetworkPolicyConfig
drift: report
probes: {gateways: false}
YAML
sed '/^routes:/,/gateway:/d; s/10\.1\.0\.1/10.1.0.2/' "$T/old.yaml" >"$T/new.yaml"

id_of() { # OBJECT OF NET STATUS
	fairlead n1 -o json net status | jq -r ".$1.id"
}

kept() {
	test -e "$T/state/transaction/before.json"
}

undoes() {
	grep -q rolling-back "$T/state/transaction/state.json"
}

refused() { # WORD...
	local code=0
	fairlead n1 "$@" >"$LOG_DIR/refused.log" 2>&1 || code=$?
	[[ $code -ne 0 ]]
}

say "the old route hangs on an address that is another's"
ip -n n1 address add 10.2.0.1/24 dev eth1
lease 3600
apply old
first=$(id_of change)
fairlead n1 net confirm "$first" >/dev/null
network >"$LOG_DIR/before"

say "that address goes while a change awaits its confirmation: not all can be undone"
apply new
ip -n n1 address delete 10.2.0.1/24 dev eth1
expect "whoever means the first change does not confirm this one" refused net confirm "$first"
expect "nor undo it" refused net rollback "$first"
expect "it still waits" status_is .change.phase awaiting
id=$(id_of change)
code=0
fairlead n1 net rollback "$id" >"$LOG_DIR/rollback.log" 2>&1 || code=$?
expect_equal "the exit code" "$code" 1
expect "it says what is left" grep -q 'not undone: add route 10.99.0.0/16.*: Nexthop has invalid gateway' "$LOG_DIR/rollback.log"
expect "it says how to go on" grep -q "fairlead net discard $id" "$LOG_DIR/rollback.log"
expect "it is half undone" status_is .change.phase half-undone
expect "what can be, is" grep -q 10.1.0.1/24 <(ip -n n1 -o address show dev eth0)
expect "the way back is kept" kept
expect "nothing else can be begun" refused net apply "$T/new.yaml"

say "the next start tries again, in vain; what the node had leases for goes on to be renewed"
kill_hard netconf
netconf_start
wait_until 30 status_is .change.phase half-undone
lease 7200
wait_until 20 lasts_longer
expect "it is half undone as before" status_is .change.phase half-undone
expect "the way back is kept" kept
expect "why it is undone has not changed" status_is .change.reason "the operator asked for it"

say "the address comes back, and so does all else"
ip -n n1 address add 10.2.0.1/24 dev eth1
fairlead n1 net rollback "$id" >/dev/null 2>&1
expect "it is undone" status_is .last.how rolled-back
expect "all is as before" is_before
expect "nothing is left of it" test ! -e "$T/state/transaction/state.json"
wait_until 10 nobody_guards
for name in old new; do
	sed -i '/^kind: DHCPv4Config/,/^---/d' "$T/$name.yaml"
	sed -i '/^apiVersion: v1alpha1$/{N;/\napiVersion/s/^[^\n]*\n//}' "$T/$name.yaml"
done
apply old
fairlead n1 net confirm >/dev/null
network >"$LOG_DIR/before"

say "the daemon dies, and its guard has its trouble: the next one says so, and takes over from it"
kill_hard netconf
NETCONF_UNDO_S=600 netconf_start
apply new
kill_hard netconf
ip -n n1 address delete 10.2.0.1/24 dev eth1
guard=$(guard_pid)
sed 's/"deadline_us": [0-9]*/"deadline_us": 1/' "$T/state/transaction/state.json" >"$T/due.json"
mv "$T/due.json" "$T/state/transaction/state.json"
wait_until 60 undoes
kill -STOP "$guard"
netconf_start
expect "it says who is at work" grep -q "the guard of a change undoes it (process $guard)" <(fairlead n1 net status)
expect "nothing can be begun" refused net apply "$T/new.yaml"
ip -n n1 address add 10.2.0.1/24 dev eth1
kill -CONT "$guard"
wait_until 60 status_is .blocked null
expect "it was undone" status_is .last.reason "nobody confirmed it in time"
expect "all is as before" is_before

say "what was before cannot be read for a while: it is undone as soon as it can be"
apply new
kill_hard netconf
netconf_start
mv "$T/state/transaction/before.json" "$T/before.json"
mkdir "$T/state/transaction/before.json"
fairlead n1 net rollback >/dev/null 2>&1 &
rollback=$!
wait_until 20 log_says netconf way_back_unreadable
expect "it goes on trying" status_is .change.phase rolling-back
# Without a moment at which there is none, which it would not wait for.
signal STOP netconf
rmdir "$T/state/transaction/before.json"
mv "$T/before.json" "$T/state/transaction/before.json"
signal CONT netconf
wait "$rollback"
expect "all is as before" is_before

say "what was before is damaged: nothing is undone by guess, and nothing is deleted"
apply new
kill_hard netconf
echo '{"links":' >"$T/state/transaction/before.json"
netconf_start
network >"$LOG_DIR/new"
expect "it cannot be undone" refused net rollback
expect "it says so" grep -q 'cannot be read' "$LOG_DIR/refused.log"
expect "the way back is kept" kept

say "what the change is cannot be read, either: netconf serves, and leaves the network alone"
kill_hard netconf
echo '{"id":' >"$T/state/transaction/state.json"
netconf_start
expect "it says so" grep -q 'state.json.* cannot be read' <(fairlead n1 net status)
expect "nothing can be begun" refused net apply "$T/old.yaml"
expect "it says why" grep -q 'state.json.* cannot be read' "$LOG_DIR/refused.log"
expect "only by its name it is given up" refused net discard "$id"
expect "the network stays" diff "$LOG_DIR/new" <(network)
fairlead n1 net discard "$(id_of blocked)" >/dev/null
expect "it is over" status_is .last.how discarded
expect "nothing is in the way any more" status_is .blocked null
expect "the network stays" diff "$LOG_DIR/new" <(network)
apply old
fairlead n1 net confirm >/dev/null
expect "all is as before" is_before
