#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# waits: for what a page starts
# docs/operations.md for the worst days, word for word, on three nodes with a real etcd: a node is
# replaced, two of three are lost, all are lost but a snapshot. Each time etcd has its keys again.
. "$(dirname "$0")/lib/begin.sh"
VIP=
use world topology pki etcd docs
world_enter "$@"

PAGE=operations.md

# A node as the page takes it: its certificates, and how etcd is to run.
node_prepare() { # NODE
	local disk=$T/disk-$1
	docs_etcd "$1" /etc/etcd/pki client
	cat >"$disk/etc/fairlead/config.yaml" <<-YAML
		apiVersion: fairlead/v1
		kind: EtcdClientConfig
		endpoints: [https://127.0.0.1:2379]
		caFile: /etc/etcd/pki/ca.crt
		certFile: /etc/etcd/pki/client.crt
		keyFile: /etc/etcd/pki/client.key
	YAML
	# What the page has exported once, every shell of the node has.
	docs_text >"$disk/root/environment" <<<"$EXPORTED"
}

# The machine's disk is gone, and all that ran there.
node_lost() { # NODE...
	local node
	for node in "$@"; do
		for file in "$T/disk-$node"/*.pid; do
			[[ ! -e $file ]] || kill -KILL "$(<"$file")" 2>/dev/null || true
			rm -f "$file"
		done
		rm -rf "$T/disk-$node/var/lib"
		mkdir -p "$T/disk-$node/var/lib"
	done
}

has_keys() { # NODE
	on "$1" <<<'[[ $(etcdctl get /registry/ --prefix --keys-only | grep -c .) -eq 20 ]]'
}

all_have_keys() {
	local node
	for node in "${NODES[@]}"; do
		has_keys "$node" || return 1
	done
}

# The ids of the members of that peer URL, which has a name only when it has started.
member_id() { # NODE
	printf 'etcdctl member list | awk -F ", " -v url=https://%s:2380 '\''$4 == url { print $1 }'\' "$(mgmt_ip "$1")"
}

promoted() { # NODE
	on cp-1 <<<"etcdctl member promote \$($(member_id "$1"))"
}

announced_as_learner() { # NODE
	on cp-1 <<<"etcdctl member add $1 --learner --peer-urls=https://$(mgmt_ip "$1"):2380"
}

EXPORTED=$(awk '/^export ETCDCTL/ { is = 1 } is { print } is && !/\\$/ { exit }' "$ROOT/docs/$PAGE")
[[ $EXPORTED == *ETCDCTL_KEY* ]] || fail "docs/$PAGE does not say how etcdctl finds etcd"
lan_up
pki_up
etcd_binaries
docs_nodes_up
for node in "${NODES[@]}"; do
	node_prepare "$node"
	on "$node" <<<"systemctl start etcd; systemctl start fairlead-etcdwatch"
done
wait_until 30 on cp-1 <<<"etcdctl endpoint health --cluster"
on cp-1 <<<'for ((i = 0; i < 20; i++)); do etcdctl put "/registry/$i" "value $i"; done'

say "a node is lost, and replaced"
node_lost cp-3
DOCS_AGAIN='remove-member|etcdctl member' docs_run "$PAGE" "## Replace a node"
wait_until 30 all_have_keys
expect "three members" on cp-1 <<<'[[ $(etcdctl member list | grep -c started) -eq 3 ]]'

say "and once more, by a learner that is promoted, as kubeadm does it"
node_lost cp-3
on cp-1 <<<"etcdctl member remove \$($(member_id cp-3))"
wait_until 10 announced_as_learner cp-3
on cp-3 <<<"systemctl start etcd; systemctl start fairlead-etcdwatch"
wait_until 30 promoted cp-3
wait_until 30 all_have_keys

say "two of three are lost"
on cp-1 <<<"etcdctl snapshot save /root/snapshot.db"
on cp-1 <<<"etcdctl member list -w json"; cp "$T/disk-cp-1/root/snapshot.db" "$LOG_DIR/"
node_lost cp-2 cp-3
DOCS_AGAIN='etcdctl (endpoint|member)' docs_run "$PAGE" "### One of three is left"
wait_until 30 has_keys cp-2
expect "one is a cluster, and has one more" on cp-1 <<<'[[ $(etcdctl member list | grep -c started) -eq 2 ]]'

say "all are lost but a snapshot"
node_lost "${NODES[@]}"
for node in "${NODES[@]}"; do
	node_prepare "$node"
done
DOCS_AGAIN='etcdctl endpoint' docs_run "$PAGE" "### Nothing is left but a snapshot"
wait_until 30 all_have_keys
expect "three members" on cp-1 <<<'[[ $(etcdctl member list | grep -c started) -eq 3 ]]'
