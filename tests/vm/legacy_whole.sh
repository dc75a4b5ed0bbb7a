#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A machine configuration of the older style with a bond, a VLAN, a bridge, a dummy and a WireGuard tunnel:
# as documents it plans the same; the daemon makes it; what is there is described as what makes it; and a
# tunnel that was changed works again when the change is undone.
. "$(dirname "$0")/lib.sh"

cables_new 5
ip -n n1 link set p5 address 02:00:5e:00:00:05
far_new far0 bridge -- 1 2
far_address far0 10.1.0.254/24 fd01::254/64

key_new() { # NAME: NAME.key and NAME.pub
	openssl genpkey -algorithm X25519 -out "$T/$1.pem"
	openssl pkey -in "$T/$1.pem" -outform DER | tail -c 32 | base64 >"$T/$1.key"
	openssl pkey -in "$T/$1.pem" -pubout -outform DER | tail -c 32 | base64 >"$T/$1.pub"
}
for name in n1 sw stranger; do
	key_new "$name"
done

cat >"$T/sw.yaml" <<YAML
apiVersion: v1alpha1
kind: WireguardConfig
name: wg0
privateKey: $(<"$T/sw.key")
listenPort: 51820
peers: [{publicKey: $(<"$T/n1.pub"), allowedIPs: [10.9.0.1/32, "fd09::1/128"]}]
addresses: [{address: 10.9.0.254/24}, {address: "fd09::254/64"}]
YAML
inside sw timeout 90 "$NETCONF" --config "$T/sw.yaml" --state-dir "$T/state-sw" --once --wait 0s >"$LOG_DIR/sw.log" 2>&1

machine() { # PEER
	cat <<YAML
version: v1alpha1
machine:
  network:
    interfaces:
      - interface: bond0
        bond: {mode: active-backup, miimon: 100, updelay: 200, interfaces: [p1, p2], primary: p2}
        addresses: [10.1.0.1/24, "fd01::1/64"]
        routes: [{network: 0.0.0.0/0, gateway: 10.1.0.254}]
        mtu: 1400
        vlans: [{vlanId: 7, addresses: [10.7.0.1/24], routes: [{network: 10.70.0.0/16, gateway: 10.7.0.254}]}]
      - interface: br0
        bridge: {interfaces: [p3], stp: {enabled: true}, vlan: {vlanFiltering: true}}
        addresses: [10.2.0.1/24]
      - interface: p4
        bridgePort: {master: br0}
      - deviceSelector: {hardwareAddr: "02:00:5e:*:05"}
        addresses: [10.5.0.1/24]
      - interface: svc0
        dummy: true
        addresses: [192.0.2.10/24]
      - interface: wg0
        wireguard:
          privateKeyFile: $T/n1.key
          peers:
            - publicKey: $(<"$1")
              endpoint: 10.1.0.254:51820
              persistentKeepaliveInterval: 5s
              allowedIPs: [10.9.0.0/24, "fd09::/64"]
        addresses: [10.9.0.1/24, "fd09::1/64"]
        mtu: 1320
YAML
}
machine "$T/sw.pub" | config_write legacy

say "as documents it plans the same"
netconf --convert --config "$T/legacy.yaml" >"$T/converted.yaml"
expect "nothing of the older style is left" test -z "$(grep -E 'machine:|interfaces:' "$T/converted.yaml")"
netconf_in_state legacy --plan >"$LOG_DIR/plan-legacy"
netconf_in_state converted --plan >"$LOG_DIR/plan-converted"
expect "there is much to do" test "$(wc -l <"$LOG_DIR/plan-legacy")" -ge 20
expect "the plans are the same" diff "$LOG_DIR/plan-legacy" "$LOG_DIR/plan-converted"

say "the daemon makes it"
mkdir -p "$T/files"
netconf_start
apply legacy
wait_until 60 reaches 10.9.0.254
wait_until 60 reaches fd09::254
fairlead n1 net confirm >/dev/null
: >"$LOG_DIR/apply.log"
apply converted
expect "as documents there is nothing to do" grep -q "nothing to do" "$LOG_DIR/apply.log"

say "what is there is described as what makes it"
netconf --describe --config "$T/files" 2>"$LOG_DIR/described.log" |
	tee "$LOG_DIR/described" >"$T/described.yaml"
expect "bond, VLAN, bridge and dummy are in it" test "$(grep -cE '^kind: (Bond|VLAN|Bridge|DummyLink)Config' "$T/described.yaml")" -eq 4
expect "the tunnel is told to be left out, as it has keys" grep -q '^# left out: wg0: ' "$T/described.yaml"
awk -v RS='---\n' '/kind: WireguardConfig/ { printf "---\n%s", $0 }' "$T/converted.yaml" >>"$T/described.yaml"
: >"$LOG_DIR/apply.log"
apply described
expect "there is nothing to do" grep -q "nothing to do" "$LOG_DIR/apply.log"

say "a tunnel to a stranger: it is undone, and works again"
machine "$T/stranger.pub" | config_write stranger
apply stranger
expect "it leads nowhere" test -z "$(inside n1 ping -c 2 -W 1 10.9.0.254 | grep ttl=)"
fairlead n1 net rollback >/dev/null
expect "all could be undone" status_is .last.left_undone ""
wait_until 60 reaches 10.9.0.254
