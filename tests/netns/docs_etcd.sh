#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# waits: for what a page starts
# docs/quickstart-etcd.md, word for word, on three nodes whose etcd is a service of its own: there is a
# VIP with an owner, though there is no API server, and a proven snapshot.
. "$(dirname "$0")/lib/begin.sh"
VIP=10.86.0.5
use world topology pki etcd docs
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
