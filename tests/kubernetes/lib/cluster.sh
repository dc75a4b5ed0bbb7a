# SPDX-License-Identifier: Apache-2.0
# A cluster as kubeadm makes it, without containers: on n1 n2 n3 etcd, kube-apiserver, kube-controller-manager and
# kube-scheduler run with the flags of the manifests that kubeadm writes, by its certificates and kubeconfigs, and
# vipd and prism with their defaults. Controller managers and schedulers connect to the prism of their node. `wk` is
# a worker with prism and the stand-in for a kubelet, `cl` a client of the VIP. All are on one LAN.
#
# K8S is the folder of tests/kubernetes/get, CLIENT the program of tests/kubernetes/client.

NUMBER+=([wk]=22)
HEALTH_TIMES='interval: 1s' # the default
PRISM_URL=https://127.0.0.1:7445
VIP_URL=https://$VIP:6443
ETCD_FROM=cl
NO_RUNTIME=unix:///run/no-runtime.sock
TOKEN=abcdef.0123456789abcdef
CERTIFICATE_KEY=$(printf '0%.0s' {1..64})
KUBE_FOLDERS=etc # those of a node that its programs have instead of this machine's
PROGRAMS=(kube-controller-manager kube-scheduler)

API_ARGS= # of the API servers that start next

address() { # HOST
	echo "10.86.0.${NUMBER[$1]}"
}

# etcd is on the LAN, too.
mgmt_ip() { # NODE
	address "$1"
}

node_up() { # NODE
	host_up "$1"
	cable_plug "$1" eth1 mgmt # for power_off
	inside "$1" sysctl -qw net.ipv4.ip_forward=1
}

kube_lan_up() {
	local host
	ip netns add sw
	bridge_up lan
	bridge_up mgmt
	for host in cl obs wk; do
		host_up "$host"
	done
	for host in "${NODES[@]}"; do
		node_up "$host"
	done
}

# --- what kubeadm makes --------------------------------------------------------------------------

kube_folder() { # NODE
	echo "$T/disk-$1/etc/kubernetes"
}

kube_document() { # NODE
	local node=$1 member cluster=()
	for member in "${NODES[@]}"; do
		cluster+=("$member=https://$(address "$member"):2380")
	done
	kube_document_base "$node"
	cat <<-YAML
		etcd:
		  local:
		    dataDir: $T/etcd-$node
		    extraArgs:
		      - {name: initial-cluster, value: "$(IFS=,; echo "${cluster[*]}")"}
	YAML
}

# What an operator says to `kubeadm init --config`, and that keys are quick to make.
kube_document_base() { # NODE
	cat <<-YAML
		apiVersion: kubeadm.k8s.io/v1beta4
		kind: InitConfiguration
		localAPIEndpoint: {advertiseAddress: $(address "$1"), bindPort: 6443}
		nodeRegistration: {name: $1, criSocket: "$NO_RUNTIME"}
		bootstrapTokens: [{token: $TOKEN}]
		certificateKey: "$CERTIFICATE_KEY"
		---
		apiVersion: kubeadm.k8s.io/v1beta4
		kind: ClusterConfiguration
		kubernetesVersion: $("$K8S/kubectl" version --client --output json | jq -r .clientVersion.gitVersion)
		controlPlaneEndpoint: $VIP:6443
		encryptionAlgorithm: ECDSA-P256
		apiServer:
		  certSANs: [127.0.0.1, $VIP]
	YAML
}

kubeadm_init() { # NODE PHASE...
	kubeadm "$1" init phase "${@:2}" --config "$T/kubeadm-$1.yaml"
}

kubeadm() { # NODE ARGUMENT...
	kube_run "$1" "$K8S/kubeadm" "${@:2}" >>"$LOG_DIR/kubeadm.log" 2>&1
}

# A command on a node, with the node's network and /etc.
kube_run() { # NODE COMMAND...
	FOLDERS=$KUBE_FOLDERS T=$T "$NETNS_DIR/lib/docs-node" "$@"
}

kube_made() { # NODE
	local node=$1 folder name
	folder=$(kube_folder "$node")
	kubeadm_init "$node" certs all
	kubeadm_init "$node" kubeconfig all
	kubeadm_init "$node" control-plane all
	kubeadm_init "$node" etcd local
	for name in controller-manager scheduler; do
		sed -i "s|server: .*|server: $PRISM_URL|" "$folder/$name.conf"
	done
	# vipd and prism are nobody's processes here.
	chmod 755 "$folder" "$folder/pki" "$folder/pki/etcd"
	vipd_certificate "$node"
}

vipd_certificate() { # NODE
	local kind
	for kind in crt key; do
		install -m 644 "$(kube_folder "$1")/pki/apiserver-etcd-client.$kind" "$PKI/client-$1.$kind"
	done
}

kube_disk() { # NODE: its own /etc
	mkdir -p "$T/disk-$1/etc"
	cp -a /etc/. "$T/disk-$1/etc/"
	rm -rf "$(kube_folder "$1")"
}

kube_pki_up() {
	local node folder first
	first=$(kube_folder n1)
	mkdir -p "$PKI"
	for node in "${NODES[@]}" wk; do
		kube_disk "$node"
	done
	for node in "${NODES[@]}"; do
		kube_document "$node" >"$T/kubeadm-$node.yaml"
	done
	kube_made n1
	for node in n2 n3; do
		folder=$(kube_folder "$node")/pki
		mkdir -p "$folder/etcd"
		cp "$first"/pki/{ca,front-proxy-ca}.{crt,key} "$first"/pki/sa.{key,pub} "$folder"
		cp "$first"/pki/etcd/ca.{crt,key} "$folder/etcd"
		kube_made "$node"
	done
	mkdir -p "$(kube_folder wk)/pki"
	cp "$first/pki/ca.crt" "$(kube_folder wk)/pki"
	cp "$first/pki/ca.crt" "$PKI/cluster-ca.crt"
	cp "$first/pki/etcd/ca.crt" "$PKI/etcd-trust.crt"
	for node in crt key; do
		cp "$first/pki/etcd/healthcheck-client.$node" "$PKI/client-admin.$node"
	done
	pki_authority kubelet-ca
	pki_issue kubelet kubelet-ca wk DNS:wk
}

# The command of a manifest, a word to each NUL.
manifest_words() { # NODE PROGRAM
	python3 -c 'import sys, yaml
sys.stdout.write("\0".join(yaml.safe_load(open(sys.argv[1]))["spec"]["containers"][0]["command"]) + "\0")' \
		"$(kube_folder "$1")/manifests/$2.yaml"
}

program_start() { # NAME NODE PROGRAM ARGUMENT...: as its manifest says
	local words
	mapfile -d '' -t words < <(manifest_words "$2" "$3")
	FOLDERS=$KUBE_FOLDERS T=$T spawn "$1" "$2" env PATH="$K8S:$ETCD_BIN:$PATH" "$NETNS_DIR/lib/docs-node" "$2" \
		"${words[@]}" "${@:4}"
}

etcd_start() { # NODE
	program_start "etcd-$1" "$1" etcd
}

api_start() { # NODE
	# shellcheck disable=SC2086
	program_start "api-$1" "$1" kube-apiserver $API_ARGS
}

api_ready() { # NODE: the servers that answer anonymous questions, and those that do not
	[[ $(inside "$1" curl -s --max-time 2 --cacert "$PKI/cluster-ca.crt" --cert "$PKI/client-probe.crt" \
		--key "$PKI/client-probe.key" "https://$(address "$1"):6443/readyz") == ok ]]
}

all_apis_ready() {
	local node
	for node in "${NODES[@]}"; do
		api_ready "$node" || return 1
	done
}

# Controller manager and scheduler.
controllers_start() { # NODE
	local program
	for program in "${PROGRAMS[@]}"; do
		alive "$program-$1" || program_start "$program-$1" "$1" "$program"
	done
}

# --- fairlead ------------------------------------------------------------------------------------

prism_config() { # HOST
	local own=off node
	[[ ! -e $(kube_folder "$1")/pki/apiserver.crt ]] || own=127.0.0.1:6443
	cat <<-YAML
		apiVersion: fairlead/v1
		kind: PrismConfig
		listen: ["${PRISM_URL#https://}"]
		stateDir: "$T/state-$1"
		upstreams:
		  local: $own
		  static: [$(for node in "${NODES[@]}"; do printf '"%s:6443", ' "$(address "$node")"; done | sed 's/, $//')]
		healthCheck:
		  caFile: $PKI/cluster-ca.crt
	YAML
	indent "$PRISM_HEALTH"
}

kube_prism_start() { # HOST
	PRISM_AT=$1 prism_start "$1"
}

# --- the whole -----------------------------------------------------------------------------------

kubectl() { # ARGUMENT...: as the administrator, at the first API server that is ready
	local node
	for node in "${NODES[@]}"; do
		api_ready "$node" || continue
		inside cl "$K8S/kubectl" --kubeconfig "$(kube_folder n1)/super-admin.conf" \
			--server "https://$(address "$node"):6443" --request-timeout 20s "$@" 2>>"$LOG_DIR/kubectl.log"
		return
	done
	return 1
}

kubectl_applies() { # YAML
	kubectl apply -f - <<<"$1"
}

# Objects of the tests: a pod on the worker, whose log is followed, and what long reads read.
objects_up() {
	local number
	wait_until 60 kubectl -n kube-system get serviceaccount default
	wait_until 20 kubectl_applies "$(cat <<-YAML
		apiVersion: v1
		kind: Node
		metadata: {name: wk}
		---
		apiVersion: v1
		kind: Pod
		metadata: {name: talker, namespace: kube-system}
		spec:
		  nodeName: wk
		  automountServiceAccountToken: false
		  tolerations: [{operator: Exists}]
		  containers: [{name: talker, image: none}]
	YAML
	)"
	wait_until 20 kubectl patch node wk --subresource status --type merge \
		--patch "{\"status\": {\"addresses\": [{\"type\": \"InternalIP\", \"address\": \"$(address wk)\"}]}}"
	for number in 1 2 3 4 5; do
		head -c 384000 /dev/urandom | base64 -w 0 >"$T/bulk"
		wait_until 20 kubectl -n kube-system create configmap "bulk-$number" --from-file "$T/bulk"
		wait_until 20 kubectl -n kube-system label configmap "bulk-$number" bulk=yes
	done
	spawn kubelet-wk wk "$CLIENT" kubelet --listen "$(address wk):10250" --cert "$PKI/kubelet.crt" --key "$PKI/kubelet.key"
}

cluster_up() {
	local node
	say "kubeadm's certificates, kubeconfigs and manifests on three nodes"
	lateness_watch
	kube_lan_up
	kube_pki_up
	pki_issue_probe
	say "etcd, API servers, vipd, prism"
	for node in "${NODES[@]}"; do
		etcd_start "$node"
	done
	wait_until 60 etcd_is_healthy
	for node in "${NODES[@]}"; do
		api_start "$node"
	done
	vipd_start "${NODES[@]}"
	for node in "${NODES[@]}" wk; do
		kube_prism_start "$node"
	done
	wait_until 120 all_apis_ready
	wait_until 60 settled
	MOVED_CS=$(now_cs)
	say "controller managers and schedulers, each by its node's prism"
	for node in "${NODES[@]}"; do
		controllers_start "$node"
	done
	objects_up
	journal_start
	wait_until 60 all_leases_held
}

# For readyz where anonymous requests are refused.
pki_issue_probe() {
	cp "$(kube_folder n1)"/pki/ca.key "$PKI/cluster-ca.key"
	pki_issue client-probe cluster-ca fairlead-probe DNS:fairlead-probe
}
