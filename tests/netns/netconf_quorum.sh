#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Three nodes with a member of etcd each. While another member hangs or is dead, a change that may cut
# this node off is refused, unless the operator insists; one that only adds an address is not.
# shellcheck source=tests/netns/lib/begin.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/begin.sh"
T=/run/story
VIP=
NODES=(n1 n2 n3)
export FAIRLEAD_TIMEOUT=60

use world topology pki etcd netconf

world_enter "$@"

lan_up
pki_up
etcd_up
etcd_move_leader n1 # so that nobody is elected when another stops
mkdir -p "$T/files"
netconf_start

write() { # NAME ADDRESS...
	local name=$1 address
	shift
	{
		printf 'apiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\naddresses:\n'
		for address in "$@"; do
			echo "  - address: $address"
		done
		cat <<-YAML
			---
			apiVersion: fairlead/v1
			kind: NetworkPolicyConfig
			probes: {gateways: false, etcd: false}
			---
			apiVersion: fairlead/v1
			kind: EtcdClientConfig
			endpoints: ["https://127.0.0.1:2379"]
			caFile: $PKI/etcd-trust.crt
			certFile: $PKI/client-n1.crt
			keyFile: $PKI/client-n1.key
		YAML
	} | config_write "$name"
}

refused() { # NAME
	local code=0
	: >"$LOG_DIR/apply.log"
	apply "$1" || code=$?
	[[ $code -ne 0 ]] && status_is .change null
}

two_are_well() {
	ETCD_AT="n1 n2" etcd_is_healthy
}

write one 10.50.0.1/24
write two 10.50.0.2/24
write both 10.50.0.1/24 10.50.0.2/24
sed 's/^name: eth0$/&\nroutes:\n  - gateway: 10.50.0.254/' "$T/two.yaml" >"$T/away.yaml"

say "all members are well: an address may go"
apply one
fairlead n1 net confirm >/dev/null
apply two
fairlead n1 net confirm >/dev/null
expect "they were asked" log_says netconf 'etcd_member.* member=n3 well=1'

say "a member hangs: an address may not go, but one may come"
signal STOP etcd-n3
wait_until 30 two_are_well
expect "it is refused" refused one
expect "it says who is unwell, and what to do" \
	grep -q "does not hear from 'n3' (https://10.87.0.13:2380).*--even-without-quorum" "$LOG_DIR/apply.log"
expect "nor may a default route come" refused away
apply both
fairlead n1 net rollback >/dev/null 2>&1 || true
expect "it was undone" status_is .last.how rolled-back

say "it is dead: the same, unless the operator insists"
kill_hard etcd-n3
wait_until 30 two_are_well
expect "it is refused" refused one
apply one --even-without-quorum
fairlead n1 net confirm >/dev/null
expect "it was confirmed" status_is .last.how confirmed

say "what another program adds while they are asked belongs to what was there before"
kill_hard netconf
mkdir "$T/bin"
cp "$NETCONF" "$T/bin/netconf"
cat >"$T/bin/netconf-probe" <<SH
#!/bin/bash
touch "$T/asked"
until [[ -e $T/answer ]]; do read -rt 0.1 <><(:) || :; done
SH
chmod +x "$T/bin/netconf-probe"
NETCONF_DAEMON=$T/bin/netconf netconf_start
apply two &
cli=$!
wait_until 30 test -e "$T/asked"
ip -n n1 route add 10.60.0.0/16 dev eth0 protocol 99
nap 0.2 # a plan that is younger counts as fresh
touch "$T/answer"
wait "$cli"
expect "it is known to have been there before" grep -q '10.60.0.0/16' "$T/state/transaction/before.json"
