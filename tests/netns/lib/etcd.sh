# SPDX-License-Identifier: Apache-2.0
# A real etcd of three members, one a node, with mutual TLS for clients and peers, over mgmt.
# ETCD_OPTIONS holds further options of every member (the story of slow elections sets it), ETCDCTL_WAITS how
# long etcdctl waits.

ETCD_OPTIONS=()
ETCDCTL_WAITS=(--dial-timeout 1s --command-timeout 2s)

etcd_binaries() {
	ETCD_BIN=$("$NETNS_DIR/etcd-get" "${FAIRLEAD_ETCD:-system}") || fail "no etcd '$FAIRLEAD_ETCD'"
}

etcd_start() { # NODE
	local node=$1 member cluster=()
	for member in "${NODES[@]}"; do
		cluster+=("$member=https://$(mgmt_ip "$member"):2380")
	done
	# Peers keep the authority they began with: a rotation is between clients and servers.
	[[ -e $PKI/peer-$node.crt ]] || pki_issue "peer-$node" etcd-ca "$node" \
		"IP:$(mgmt_ip "$node"),DNS:$node"
	spawn "etcd-$node" "$node" env ETCD_UNSUPPORTED_ARCH="$(uname -m)" "$ETCD_BIN/etcd" \
		--name "$node" --data-dir "$T/etcd-$node" --logger zap \
		--listen-peer-urls "https://$(mgmt_ip "$node"):2380" \
		--initial-advertise-peer-urls "https://$(mgmt_ip "$node"):2380" \
		--listen-client-urls "https://$(mgmt_ip "$node"):2379,https://127.0.0.1:2379" \
		--advertise-client-urls "https://$(mgmt_ip "$node"):2379" \
		--initial-cluster "$(IFS=,; echo "${cluster[*]}")" --initial-cluster-token story \
		--client-cert-auth --trusted-ca-file "$PKI/etcd-ca.crt" \
		--cert-file "$PKI/etcd-$node.crt" --key-file "$PKI/etcd-$node.key" \
		--peer-client-cert-auth --peer-trusted-ca-file "$PKI/etcd-ca.crt" \
		--peer-cert-file "$PKI/peer-$node.crt" --peer-key-file "$PKI/peer-$node.key" \
		"${ETCD_OPTIONS[@]}"
}

# The cluster that NODE's member is of, as etcd writes it. It has more digits than jq can tell apart.
etcd_cluster_id() { # NODE
	local id
	id=$(ETCD_AT=$1 etcd_ctl get nothing --write-out json | grep -o '"cluster_id":[0-9]*')
	printf '%x' "${id#*:}"
}

# NODE's data, made of the backup: of the cluster that the token and the members make.
etcd_restore() { # NODE TOKEN MEMBER...
	local node=$1 token=$2 program=$ETCD_BIN/etcdctl member cluster=()
	shift 2
	[[ ! -x $ETCD_BIN/etcdutl ]] || program=$ETCD_BIN/etcdutl
	for member in "$@"; do
		cluster+=("$member=https://$(mgmt_ip "$member"):2380")
	done
	rm -rf "${T:?}/etcd-$node"
	ETCDCTL_API=3 "$program" snapshot restore "$T/backup.db" --name "$node" \
		--data-dir "$T/etcd-$node" --initial-cluster "$(IFS=,; echo "${cluster[*]}")" \
		--initial-cluster-token "$token" \
		--initial-advertise-peer-urls "https://$(mgmt_ip "$node"):2380" \
		>>"$LOG_DIR/restore.log" 2>&1
}

etcd_up() {
	local node
	etcd_binaries
	for node in "${NODES[@]}"; do
		etcd_start "$node"
	done
	wait_until 30 etcd_is_healthy
}

# As the administrator, from the switch or the host ETCD_FROM. ETCD_AT limits it to the members named there.
etcd_ctl() { # ARGUMENT...
	local node endpoints=()
	for node in ${ETCD_AT:-"${NODES[@]}"}; do
		endpoints+=("https://$(mgmt_ip "$node"):2379")
	done
	inside "${ETCD_FROM:-sw}" env ETCDCTL_API=3 "$ETCD_BIN/etcdctl" "${ETCDCTL_WAITS[@]}" \
		--endpoints "$(IFS=,; echo "${endpoints[*]}")" --cacert "$PKI/etcd-trust.crt" \
		--cert "$PKI/client-admin.crt" --key "$PKI/client-admin.key" "$@" 2>>"$LOG_DIR/etcdctl.log"
}

# Every member answers a read that needs a quorum.
etcd_is_healthy() {
	etcd_ctl endpoint health >/dev/null
}

# The node whose member leads, or nothing.
etcd_leader() {
	local endpoint node
	endpoint=$(etcd_ctl endpoint status --write-out json |
		jq -r '.[] | select(.Status.leader == .Status.header.member_id) | .Endpoint') || true
	for node in "${NODES[@]}"; do
		[[ $endpoint != "https://$(mgmt_ip "$node"):2379" ]] || echo "$node"
	done
}

etcd_leader_is() { # NODE
	[[ $(etcd_leader) == "$1" ]]
}

etcd_leader_is_not() { # NODE
	local leader
	leader=$(etcd_leader)
	[[ -n $leader && $leader != "$1" ]]
}

etcd_move_leader() { # NODE
	local leader id
	leader=$(etcd_leader)
	[[ $leader != "$1" ]] || return 0
	id=$(etcd_ctl member list | awk -F ', ' -v name="$1" '$3 == name { print $1 }')
	ETCD_AT=$leader etcd_ctl move-leader "$id" >/dev/null
	wait_until 10 etcd_leader_is "$1"
}

# The first node that is none of these.
node_other_than() { # NODE...
	local node
	for node in "${NODES[@]}"; do
		[[ " $* " == *" $node "* ]] || {
			echo "$node"
			return
		}
	done
}

# How many entries raft has been given so far: what everybody writes.
etcd_raft_index() {
	ETCD_AT=${1:-n1} etcd_ctl endpoint status --write-out json | jq '.[0].Status.raftIndex'
}

etcd_works_without() { # NODE
	ETCD_AT=$(node_other_than "$1") etcd_ctl get nothing >/dev/null
}

# Writes from many clients until load-sw is killed; at the members of all nodes but NODE. s: 50 clients and
# 150 writes a second, m: 200 clients and 1000.
load_start() { # NODE [s|m]
	local endpoints=() node
	for node in "${NODES[@]}"; do
		[[ $node == "$1" ]] || endpoints+=("https://$(mgmt_ip "$node"):2379")
	done
	spawn load-sw sw env ETCDCTL_API=3 "$ETCD_BIN/etcdctl" check perf --load "${2:-s}" --prefix load/ \
		--endpoints "$(IFS=,; echo "${endpoints[*]}")" --cacert "$PKI/etcd-trust.crt" \
		--cert "$PKI/client-admin.crt" --key "$PKI/client-admin.key"
}
