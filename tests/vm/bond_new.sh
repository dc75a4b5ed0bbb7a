#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Bonds are made with every option in one go; LACP comes to terms with the switch; a second time
# nothing is written.
. "$(dirname "$0")/lib.sh"

cables_new 4
far_new far0 bond mode 802.3ad miimon 100 lacp_rate fast -- 1 2
far_address far0 10.1.0.254/24 fd01::254/64
far_new far1 bridge -- 3 4
far_address far1 10.2.0.254/24

as_kernel_can <<'YAML' | config_write bonds
apiVersion: v1alpha1
kind: BondConfig
name: lacp
links: [p1, p2]
bondMode: 802.3ad
miimon: 100
updelay: 200
downdelay: 300
peerNotifDelay: 400
xmitHashPolicy: layer3+4
lacpRate: fast
adSelect: count
adActorSysPrio: 4711
adUserPortKey: 7
adActorSystem: 02:00:00:00:00:09
minLinks: 1
numPeerNotif: 2
hardwareAddr: 02:00:00:00:00:11
mtu: 1400
addresses:
  - address: 10.1.0.1/24
  - address: fd01::1/64
---
apiVersion: v1alpha1
kind: BondConfig
name: backup
links: [p3, p4]
bondMode: active-backup
arpInterval: 20000
arpIpTargets: [10.2.0.254, 10.2.0.253]
nsIp6Targets: ["fd02::254"]
arpValidate: active
arpAllTargets: any
missedMax: 9
primary: p4
primaryReselect: better
failOverMac: active
resendIGMP: 3
allSlavesActive: 1
addresses:
  - address: 10.2.0.1/24
YAML

say "two bonds"
apply_once bonds
expect_options lacp mode=802.3ad miimon=100 updelay=200 downdelay=300 peer_notify_delay=400 \
	xmit_hash_policy=layer3+4 ad_lacp_rate=fast ad_select=count ad_actor_sys_prio=4711 \
	ad_user_port_key=7 ad_actor_system=02:00:00:00:00:09 min_links=1 num_peer_notif=2
expect_options backup mode=active-backup arp_interval=20000 arp_ip_target=10.2.0.254,10.2.0.253 \
	ns_ip6_target=fd02::254 arp_validate=active arp_all_targets=any arp_missed_max=9 primary=p4 \
	primary_reselect=better fail_over_mac=active resend_igmp=3 all_slaves_active=1
expect_equal "ports" "$(ports_of lacp), $(ports_of backup)" "p1 p2, p3 p4"
expect_equal "MAC and MTU" "$(ip -n n1 -j link show lacp | jq -r '.[0] | "\(.address) \(.mtu)"')" \
	"02:00:00:00:00:11 1400"

say "the switch and the node agree: one aggregate of two ports"
is_aggregated() {
	ip -n n1 -d -j link show lacp | jq -e --arg mac "$(ip -n sw -j link show far0 | jq -r '.[0].address')" \
		'.[0].linkinfo.info_data.ad_info | .num_ports == 2 and .partner_mac == $mac'
}
wait_until 60 is_aggregated
wait_until 30 reaches 10.1.0.254
wait_until 30 reaches fd01::254
wait_until 120 reaches 10.2.0.254

say "the second time nothing is written"
monitor_start
netconf_once bonds
expect_equal "messages of the kernel" "$(monitor_heard)" ""
