#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Certificates change on disk, as they do each year: vipd's own, shortly before it expires, and those
# of etcd, which now come from another authority. When the old ones are no longer worth anything and
# every connection has to be made anew, vipd uses the new ones; nobody restarts it, and the address
# stays where it is. Then etcd's authentication is switched on and off again: vipd authenticates as the
# configured user, not as the certificate's CN, which etcd knows nothing of.
. "$(dirname "$0")/lib.sh"

VALID_S=14 # of the first client certificates, from when they are made

ETCD_USER=fairlead

lan_up
pki_up
echo secret >"$PKI/password"
say "vipd's certificates expire in $VALID_S s"
made=$(now_cs)
for node in "${NODES[@]}"; do
	PKI_DAYS=1 PKI_CLOCK=-$((86400 - VALID_S))s pki_issue "client-$node" etcd-ca "fairlead-$node" \
		DNS:fairlead
done
etcd_up
api_up
tcp_up
observe
observe_tcp
vipd_start "${NODES[@]}"
wait_until 15 settled
OWNER=$(holders)

say "all certificates are replaced on disk"
pki_authority etcd-new-ca
cat "$PKI/etcd-ca.crt" "$PKI/etcd-new-ca.crt" >"$PKI/etcd-trust.crt.new"
mv "$PKI/etcd-trust.crt.new" "$PKI/etcd-trust.crt"
for node in "${NODES[@]}"; do
	pki_issue "client-$node" etcd-ca "fairlead-$node" DNS:fairlead
	pki_issue_etcd "$node" etcd-new-ca
done
for_seconds $(((made + VALID_S * 100 - $(now_cs)) / 100 + 2)) settled_on "$OWNER"

for node in "${NODES[@]}"; do
	say "etcd on $node restarts: the old certificates would be refused"
	kill_hard "etcd-$node"
	etcd_start "$node"
	wait_until 20 etcd_is_healthy
	wait_until 10 settled
done
held_by "$OWNER" || fail "it moved to $(holders)"
for node in "${NODES[@]}"; do
	wait_until 10 status_is "$node" .etcd_ok true
done

etcd_refuses_reads() {
	! etcd_ctl get fairlead/
}

say "etcd's authentication is switched on"
etcd_ctl user add root:rootpw
etcd_ctl user grant-role root root
etcd_ctl user add fairlead:secret
etcd_ctl role add fairlead
etcd_ctl role grant-permission fairlead --prefix=true readwrite fairlead/
etcd_ctl user grant-role fairlead fairlead
etcd_ctl auth enable
expect "the certificate's CN may read nothing" etcd_refuses_reads
for_seconds 5 settled_on "$OWNER"

say "and off again, and on"
etcd_ctl --user root:rootpw auth disable
for_seconds 3 settled_on "$OWNER"
etcd_ctl auth enable
for_seconds 4 settled_on "$OWNER"
wire_check --expect-moves 0 --max-owners 1
