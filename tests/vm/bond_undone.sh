#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A change of a bond's mode and of its MTU, with a VLAN on it that becomes another: nobody confirms one
# that makes packets smaller, and netconf is killed in the midst of one that makes them larger. The old
# network comes back both times, with what others have put there, and a connection lives on.
. "$(dirname "$0")/lib.sh"

NETCONF_DAEMON=$BUILD/tests/fault/netconf-dies
export NETCONF_DIE=$T/die NETCONF_GUARD_LOCK=$T/state/guard.lock

cables_new 2
far_new far0 bridge -- 1 2
far_address far0 10.1.0.254/24 fd01::254/64
for id in 5 6; do
	ip -n sw link add link far0 name "far0.$id" type vlan id "$id"
	ip -n sw link set "far0.$id" up
	far_address "far0.$id" "10.$id.0.254/24"
done
mkdir -p "$T/files"

bond() { # MODE MTU VLAN
	printf '%s\n' 'apiVersion: v1alpha1' 'kind: BondConfig' 'name: bond' 'links: [p1, p2]' \
		"bondMode: $1" 'miimon: 100' "mtu: $2" 'addresses: [{address: 10.1.0.1/24}, {address: "fd01::1/64"}]' \
		'routes: [{gateway: 10.1.0.254}, {gateway: "fd01::254"}]' \
		--- 'apiVersion: v1alpha1' 'kind: VLANConfig' 'name: storage' 'parent: bond' "vlanID: $3" \
		"mtu: $2" "addresses: [{address: 10.$3.0.1/24}]" \
		"routes: [{destination: 10.60.0.0/16, gateway: 10.$3.0.254}]"
}

bond active-backup 1500 5 | config_write old
bond balance-tlb 1400 6 | config_write new
bond balance-tlb 1600 6 | config_write larger

say "a bond with a VLAN, confirmed, and what others put there"
netconf_start
apply old
fairlead n1 net confirm >/dev/null
wait_until 30 reaches 10.5.0.254
ip -n n1 -batch - <<'BATCH'
address add 10.1.0.99/32 dev bond
route add 10.77.0.0/16 via 10.1.0.254 dev bond proto bird
route add fd77::/64 via fd01::254 dev bond proto bird
rule add priority 500 from 10.77.0.0/16 lookup 50
BATCH
network_at_rest >"$LOG_DIR/before"
talk_start 10.1.0.254

# The other's route went with the bond and was put back; that its owner took it away then, the next
# netconf has from the disk.
say "nobody confirms it, and netconf is another one by then"
ip -n n1 route add 10.78.0.0/16 via 10.1.0.254 dev bond proto bird
apply new --confirm-within 30s
expect "it has been changed" grep -q 'mode=balance-tlb' <(options_of bond mode)
ip -n n1 route delete 10.78.0.0/16 proto bird
kill_hard netconf
netconf_start
wait_until 90 status_is .last.how rolled-back
expect "all could be undone" status_is .last.left_undone ""
expect_options bond mode=active-backup
expect_network "$LOG_DIR/before"
talk_goes_on

is_over() {
	[[ ! -e $T/state/transaction/state.json ]]
}

# The VLAN is gone; the bond is half empty; it has half of its ports again, in the new mode; half of
# what it lost is put back.
for step in 2 6 9 13; do
	say "netconf is killed before step $step"
	echo "$step" >"$NETCONF_DIE"
	apply larger &
	cli=$!
	wait_until 60 gone netconf
	kill -KILL "$cli" 2>/dev/null || true
	wait "$cli" 2>/dev/null || true
	wait "${PID[netconf]}" 2>/dev/null || true
	wait_until 60 is_over
	wait_until 30 nobody_guards
	expect_options bond mode=active-backup
	expect_network "$LOG_DIR/before"
	talk_goes_on
	netconf_start
	expect "it says so" status_is .last.reason "netconf ended in the middle of it"
	expect "all could be undone" status_is .last.left_undone ""
done
