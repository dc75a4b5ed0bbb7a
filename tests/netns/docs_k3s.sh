#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# waits: for what a page starts
# docs/quickstart-k3s.md, word for word, on three nodes with etcd's and the API server's files where k3s
# has them: there is a VIP with an owner whose API server is well, and a proven snapshot.
. "$(dirname "$0")/lib/begin.sh"
VIP=10.86.0.5
use world topology pki etcd api docs
world_enter "$@"

TLS=/var/lib/rancher/k3s/server/tls

k3s_was_here() { # NODE
	local tls=$T/disk-$1$TLS kind
	docs_etcd "$1" "$TLS/etcd" client
	mv "$tls/etcd/ca.crt" "$tls/etcd/server-ca.crt"
	sed -i "s|$TLS/etcd/ca.crt|$TLS/etcd/server-ca.crt|; s|^ETCD_DATA_DIR=.*|ETCD_DATA_DIR=/var/lib/rancher/k3s/server/db/etcd|" \
		"$T/disk-$1/etc/default/etcd"
	cp "$PKI/cluster-ca.crt" "$tls/server-ca.crt"
	pki_issue "proxy-$1" cluster-ca system:kube-proxy DNS:kube-proxy
	for kind in crt key; do
		cp "$PKI/proxy-$1.$kind" "$tls/client-kube-proxy.$kind"
		cp "$PKI/api-$1.$kind" "$tls/serving-kube-apiserver.$kind"
	done
	mkdir -p "$T/disk-$1/var/lib/rancher/k3s/server/db"
}

health_is_good() {
	[[ $(on_json "$(holders)" vip status .health) == good ]]
}

# A field of what is answered on a node.
on_json() { # NODE COMMAND... FILTER
	on "$1" <<<"fairlead -o json ${*:2:$#-2} | jq -r '${*: -1}' >/root/field"
	cat "$T/disk-$1/root/field"
}

lan_up
pki_up
etcd_binaries
docs_nodes_up
for node in "${NODES[@]}"; do
	k3s_was_here "$node"
	api_start "$node"
	ip -n "$node" route add default via 10.86.0.21
	on "$node" <<<"systemctl start etcd"
done

say "a configuration"
docs_run quickstart-k3s.md "## Configure"
expect "k3s is found" grep -q "a control-plane node of k3s" "$T/disk-cp-1/etc/fairlead/config.yaml"

say "an owner that is well, members, a snapshot"
DOCS_AGAIN='fairlead (vip|etcd)' docs_run quickstart-k3s.md "## Start"
wait_until 30 held_by_one
wait_until 30 health_is_good
expect "the snapshot is on the disk" compgen -G "$T/disk-cp-1/var/lib/fairlead/etcdwatch/hourly/*.json"
