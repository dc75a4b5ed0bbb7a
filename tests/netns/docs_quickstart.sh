#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# waits: for what a page starts
# docs/quickstart.md, word for word, on three nodes as kubeadm leaves them, with a real etcd and with
# stand-ins for the API servers: there is a VIP with an owner, a balancer and a proven snapshot.
. "$(dirname "$0")/lib/begin.sh"
VIP=10.86.0.5
use world topology pki etcd api docs
world_enter "$@"

PAGE=quickstart.md

kubeadm_was_here() { # NODE
	local node=$1 etc=$T/disk-$1/etc kind
	docs_etcd "$node" /etc/kubernetes/pki/etcd healthcheck-client
	cp "$PKI/cluster-ca.crt" "$etc/kubernetes/pki/ca.crt"
	for kind in crt key; do
		cp "$PKI/api-$node.$kind" "$etc/kubernetes/pki/apiserver.$kind"
	done
	mkdir "$etc/kubernetes/manifests"
	cat >"$etc/kubernetes/manifests/etcd.yaml" <<-YAML
		apiVersion: v1
		kind: Pod
		metadata: {name: etcd}
		spec:
		  containers:
		  - name: etcd
		    command:
		    - etcd
		    - --data-dir=/var/lib/etcd
		    - --cert-file=/etc/kubernetes/pki/etcd/server.crt
		    - --key-file=/etc/kubernetes/pki/etcd/server.key
		    - --trusted-ca-file=/etc/kubernetes/pki/etcd/ca.crt
		    - --listen-client-urls=https://127.0.0.1:2379,https://$(mgmt_ip "$node"):2379
		    - --initial-cluster=cp-1=https://10.86.0.11:2380,cp-2=https://10.86.0.12:2380,cp-3=https://10.86.0.13:2380
	YAML
	cat >"$etc/kubernetes/manifests/kube-apiserver.yaml" <<-YAML
		apiVersion: v1
		kind: Pod
		metadata: {name: kube-apiserver}
		spec:
		  containers:
		  - name: kube-apiserver
		    command:
		    - kube-apiserver
		    - --advertise-address=$(mgmt_ip "$node")
		    - --secure-port=6443
		    - --tls-cert-file=/etc/kubernetes/pki/apiserver.crt
	YAML
}

owner_answers() {
	[[ $(holders) =~ ^cp-[123]$ ]] && inside cl curl -sf --max-time 2 --cacert "$PKI/cluster-ca.crt" \
		"https://$VIP:6443/readyz" >/dev/null
}

owner_is_another() {
	owner_answers && [[ $(holders) != "$owner" ]]
}

prism_answers() { # NODE
	inside "$1" curl -sf --max-time 2 --cacert "$PKI/cluster-ca.crt" --connect-to kubernetes:7445:127.0.0.1:7445 \
		https://kubernetes:7445/readyz >/dev/null
}

lan_up
pki_up
etcd_binaries
docs_nodes_up
for node in "${NODES[@]}"; do
	kubeadm_was_here "$node"
	ip -n "$node" route add default via 10.86.0.21
	api_start "$node"
	on "$node" <<<"systemctl start etcd"
done
ctl="etcdctl --cacert /etc/kubernetes/pki/etcd/ca.crt --cert /etc/kubernetes/pki/etcd/server.crt --key /etc/kubernetes/pki/etcd/server.key"
wait_until 30 on cp-1 <<<"ETCDCTL_API=3 $ctl endpoint health --cluster"

say "a configuration"
docs_run "$PAGE" "## Configure"

say "an address with an owner"
DOCS_AGAIN=openssl docs_run "$PAGE" "## Start"
wait_until 30 owner_answers
docs_run "$PAGE" "## See"
expect "the certificate that the page looks at" grep -q "IP Address:$VIP" "$LOG_DIR/docs.log"

say "work on a node"
owner=$(holders)
on "$owner" <<<"fairlead vip hold"
wait_until 30 owner_is_another
on "$owner" <<<"fairlead vip unhold"
docs_run "$PAGE" "## Move"

say "a balancer on each node"
docs_run "$PAGE" "## Balance"
for node in "${NODES[@]}"; do
	wait_until 30 prism_answers "$node"
done

say "a snapshot that is proven"
docs_run "$PAGE" "## Back up"
expect "it is on the disk" compgen -G "$T/disk-cp-1/var/lib/fairlead/etcdwatch/hourly/*.json"
wait_until 30 on cp-1 <<<"fairlead status"
