#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# waits: for what a page starts
# docs/quickstart-etcd.md, word for word, on three nodes whose etcd is a service of its own: there is a
# VIP with an owner, though there is no API server, and a proven snapshot. Then kubeadm comes.
. "$(dirname "$0")/lib/begin.sh"
VIP=10.86.0.5
use world topology pki etcd api docs
world_enter "$@"

lan_up
pki_up
etcd_binaries
docs_nodes_up
for node in "${NODES[@]}"; do
	docs_etcd "$node" /etc/etcd/pki client
	ip -n "$node" route add default via 10.86.0.21
	on "$node" <<<"systemctl start etcd"
done

say "a configuration"
docs_run quickstart-etcd.md "## Configure"
expect "etcd's own files are in it" grep -q "certFile: /etc/etcd/pki/server.crt" "$T/disk-cp-1/etc/fairlead/config.yaml"

say "an owner, members, a snapshot"
DOCS_AGAIN='fairlead (vip|etcd)' docs_run quickstart-etcd.md "## Start"
wait_until 30 held_by_one
expect "the snapshot is on the disk" compgen -G "$T/disk-cp-1/var/lib/fairlead/etcdwatch/hourly/*.json"

status() { # NODE FILTER
	on "$1" <<<"fairlead -o json vip status >/root/status.json"
	jq -r "$2" "$T/disk-$1/root/status.json"
}

health_is() { # NODE STATE
	[[ $(status "$1" .health) == "$2" ]]
}

awaits_ca() { # NODE
	health_is "$1" unchecked && [[ $(status "$1" .warnings[]) == *"is not checked: /etc/kubernetes/pki/ca.crt"* ]]
}

say "kubeadm is to come: the API servers are not checked yet"
for node in "${NODES[@]}"; do
	expect "that was asked for" health_is "$node" unchecked
	rm "$T/disk-$node/etc/fairlead/conf.d/no-api-server.yaml"
	on "$node" <<<"systemctl reload fairlead-vipd"
done
for node in "${NODES[@]}"; do
	wait_until 10 awaits_ca "$node"
done
wait_until 10 held_by_one
NOW=$(holders)

say "kubeadm writes the CA, and the API server of $NOW refuses"
for node in "${NODES[@]}"; do
	[[ $node == "$NOW" ]] || api_start "$node"
	mkdir -p "$T/disk-$node/etc/kubernetes/pki"
	cp "$PKI/cluster-ca.crt" "$T/disk-$node/etc/kubernetes/pki/ca.crt"
done
wait_until 12 held_by_other_than "$NOW"
wait_until 5 health_is "$NOW" bad
wait_until 5 health_is "$(holders)" good
