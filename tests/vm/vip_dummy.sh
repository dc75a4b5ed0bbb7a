#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A routed VIP on a dummy: vipd makes it, puts the address on it, and makes it anew when somebody removes
# it. One that another made is taken as it is. When the VIPs are configured away, what vipd made goes, and
# what it did not make stays, as does what it made while it carries somebody else's address.
. "$(dirname "$0")/lib.sh"

VIPD=${VIPD:-$BUILD/bin/vipd}

vip_address() { # LINK
	ip -n n1 -j address show dev "$1" | jq -r '.[].addr_info[]? | select(.scope == "global") | .local'
}

has() { # LINK ADDRESS
	[[ $(vip_address "$1" 2>/dev/null) == "$2" ]]
}

kind_is_dummy() { # LINK
	[[ $(ip -n n1 -d -j link show dev "$1" | jq -r '.[].linkinfo.info_kind') == dummy ]]
}

vipd_begins() {
	spawn vipd-n1 n1 "$VIPD" --config "$T/vipd.yaml" --runtime-dir "$T/run-n1"
}

ip netns add n1
ip -n n1 link set lo up
ip -n n1 link add vip6 type dummy
ip -n n1 link set vip6 up
mkdir -p "$T/run-n1"
cat >"$T/vipd.yaml" <<'YAML'
apiVersion: fairlead/v1
kind: NodeConfig
name: n1
---
apiVersion: fairlead/v1
kind: EtcdClientConfig
endpoints: [http://127.0.0.1:2379]
callTimeout: 10s
hedgeDelay: 5s
---
apiVersion: v1alpha1
kind: Layer2VIPConfig
name: 192.0.2.10
link: vip0
---
apiVersion: v1alpha1
kind: Layer2VIPConfig
name: 2001:db8::10
link: vip6
---
apiVersion: fairlead/v1
kind: VIPPolicyConfig
announce: bgp
fenceWindow: 10s
healthCheck: {enabled: false}
YAML
say "etcd and vipd, and no vip0 yet"
spawn etcd-n1 n1 etcd --data-dir "$T/etcd" --log-level error
vipd_begins
wait_until 60 has vip0 192.0.2.10
expect "vip0 is a dummy" kind_is_dummy vip0
wait_until 60 has vip6 2001:db8::10

say "somebody removes it"
ip -n n1 link delete vip0
wait_until 60 has vip0 192.0.2.10

say "vipd stops: the addresses go, and the links stay"
signal TERM vipd-n1
wait_exit 30 vipd-n1
expect_equal "exit code" "$EXIT_CODE" 0
expect_equal "addresses" "$(vip_address vip0)$(vip_address vip6)" ""

say "it starts again, the VIPs are on another link by now, and vip0 has somebody else's address"
ip -n n1 address add 198.51.100.7/32 dev vip0
sed -i 's/^link: .*/link: vip1/' "$T/vipd.yaml"
vipd_begins
wait_until 60 log_says vipd-n1 'event=vip_link_kept ifname=vip0'
expect_equal "somebody else's address" "$(vip_address vip0)" 198.51.100.7

say "it reloads, and vip0 has nothing but what the kernel gives to any link"
ip -n n1 address del 198.51.100.7/32 dev vip0
ip -n n1 -6 address show dev vip0 | grep -q 'inet6 fe80::' || fail "vip0 has no link-local address"
signal HUP vipd-n1
wait_until 60 log_says vipd-n1 'event=vip_link_removed ifname=vip0 ok=1'
expect "its own is gone" test -z "$(ip -n n1 link show vip0 2>/dev/null)"
expect "the other one is there" ip -n n1 link show vip6
