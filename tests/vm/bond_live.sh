#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Options that the kernel changes while a bond works: no port leaves, no carrier goes, no packet is
# lost. On a bond that is down they change as well.
. "$(dirname "$0")/lib.sh"

cables_new 6
far_new far0 bridge -- 1 2
far_address far0 10.1.0.254/24 fd01::254/64
far_new far1 bond mode 802.3ad miimon 100 lacp_rate fast -- 3 4
far_address far1 10.2.0.254/24
far_new far2 bond mode balance-xor miimon 100 -- 5 6
far_address far2 10.3.0.254/24
# Both of those that ARP asks for are there.
far_address far0 10.1.0.253/24

# A bond called `bond` on 10.1.0.1/24, and more lines of it.
backup() { # LINE...
	printf '%s\n' 'apiVersion: v1alpha1' 'kind: BondConfig' 'name: bond' 'links: [p1, p2]' \
		'addresses: [{address: 10.1.0.1/24}, {address: "fd01::1/64"}]' 'routes: [{gateway: 10.1.0.254}]' "$@" |
		as_kernel_can
}

lacp() { # LINE...
	printf '%s\n' 'apiVersion: v1alpha1' 'kind: BondConfig' 'name: lacp' 'links: [p3, p4]' \
		'bondMode: 802.3ad' 'miimon: 100' 'lacpRate: fast' 'addresses: [{address: 10.2.0.1/24}]' "$@"
}

turns() { # LINE...
	printf '%s\n' --- 'apiVersion: v1alpha1' 'kind: BondConfig' 'name: turns' 'links: [p5, p6]' \
		'bondMode: balance-rr' 'miimon: 100' 'addresses: [{address: 10.3.0.1/24}]' "$@"
}

# The bonds as they are told, and how it went.
change() { # NAME BOND PORT...
	local name=$1
	shift
	expect_equal "what $name costs" "$(class_of "$name")" hitless
	apply_once "$name"
	expect_no_outage "$@"
}

say "a bond of the plainest kind"
backup 'bondMode: active-backup' 'miimon: 100' | config_write plain
apply_once plain
wait_until 30 reaches 10.1.0.254
wait_until 30 reaches fd01::254
wait_until 30 is_at_rest
witness_start 10.1.0.254

say "all that can be had without another way of watching the links"
backup 'bondMode: active-backup' 'miimon: 50' 'updelay: 100' 'downdelay: 150' 'peerNotifDelay: 200' \
	'useCarrier: false' 'primaryReselect: failure' 'primary: p1' 'resendIGMP: 4' 'numPeerNotif: 3' \
	'allSlavesActive: 1' 'minLinks: 1' 'lpInterval: 7' 'xmitHashPolicy: layer2+3' | config_write all
change all bond p1 p2
expect_options bond miimon=50 updelay=100 downdelay=150 peer_notify_delay=200 use_carrier=0 \
	primary=p1 primary_reselect=failure resend_igmp=4 num_peer_notif=3 all_slaves_active=1 min_links=1 \
	lp_interval=7 xmit_hash_policy=layer2+3

say "the links watched by ARP and neighbour discovery: ports may seem dead until they hear something"
backup 'bondMode: active-backup' 'arpInterval: 60000' 'arpIpTargets: [10.1.0.254]' \
	'nsIp6Targets: ["fd01::254"]' 'missedMax: 20' 'arpValidate: none' | config_write arp
expect_equal "what it costs, where the default route is" "$(class_of arp)" management-path
apply_once arp
wait_until 150 reaches 10.1.0.254

say "then by other targets"
witness_anew
backup 'bondMode: active-backup' 'arpInterval: 90000' 'arpIpTargets: [10.1.0.253, 10.1.0.254]' \
	'missedMax: 19' 'arpValidate: all' 'arpAllTargets: all' | config_write arp2
change arp2 bond p1 p2
expect_options bond miimon=0 arp_interval=90000 arp_ip_target=10.1.0.253,10.1.0.254 arp_missed_max=19 \
	arp_validate=all arp_all_targets=all

say "and back to where it began"
change plain bond p1 p2
witness_end

say "LACP: what need not be agreed on anew; and ports that take turns"
{
	lacp 'adActorSystem: 02:00:00:00:00:08'
	turns
} | config_write lacp
apply_once lacp
wait_until 60 reaches 10.2.0.254
wait_until 30 reaches 10.3.0.254
wait_until 30 is_at_rest
witness_start 10.2.0.254
{
	lacp 'adActorSystem: 02:00:00:00:00:08' 'xmitHashPolicy: layer3+4' 'minLinks: 1'
	turns 'packetsPerSlave: 5'
} | config_write hash
change hash lacp p3 p4
expect_options lacp xmit_hash_policy=layer3+4 min_links=1
expect_options turns packets_per_slave=5
change lacp lacp p3 p4
expect_equal "outages of the other" "$(outages_of turns)" ""

say "another system, with which the switch has to agree anew"
{
	lacp 'adActorSystem: 02:00:00:00:00:09' 'adActorSysPrio: 77'
	turns
} | config_write system
expect_equal "what it costs" "$(class_of system)" blip
apply_once system
expect_options lacp ad_actor_sys_prio=77 ad_actor_system=02:00:00:00:00:09
for port in p3 p4; do
	expect_equal "releases of $port" "$(releases_of "$port" lacp)" ""
done
wait_until 60 reaches 10.2.0.254

say "a bond that is down"
{
	lacp
	echo ---
	backup 'bondMode: active-backup' 'miimon: 100' 'up: false' | grep -v ^routes
} | config_write down
apply_once down
{
	lacp
	echo ---
	backup 'bondMode: active-backup' 'miimon: 200' 'updelay: 400' 'minLinks: 1' 'up: false' | grep -v ^routes
} | config_write down2
expect_equal "what it costs" "$(class_of down2)" hitless
apply_once down2
expect_options bond miimon=200 updelay=400 min_links=1
