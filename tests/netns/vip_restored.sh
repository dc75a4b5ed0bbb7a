#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# etcd is restored from a backup, with its old name and revisions: the record names an owner of long
# ago, and numbers that everybody has seen come again. The nodes notice, nobody believes what he knew,
# and after a window there is one owner again; never two.
. "$(dirname "$0")/lib.sh"

restore() { # NODE
	local node=$1 program=$ETCD_BIN/etcdctl member cluster=()
	[[ ! -x $ETCD_BIN/etcdutl ]] || program=$ETCD_BIN/etcdutl
	for member in "${NODES[@]}"; do
		cluster+=("$member=https://$(mgmt_ip "$member"):2380")
	done
	rm -rf "${T:?}/etcd-$node"
	ETCDCTL_API=3 "$program" snapshot restore "$T/backup.db" --name "$node" \
		--data-dir "$T/etcd-$node" --initial-cluster "$(IFS=,; echo "${cluster[*]}")" \
		--initial-cluster-token story \
		--initial-advertise-peer-urls "https://$(mgmt_ip "$node"):2380" \
		>>"$LOG_DIR/restore.log" 2>&1
}

revision() {
	ETCD_AT=n1 etcd_ctl get nothing --write-out json | jq .header.revision
}

each_noticed() {
	local node
	for node in "${NODES[@]}"; do
		log_says "vipd-$node" etcd_rewound || return 1
	done
}

cluster_with_owner
say "a backup is made; then $OWNER hands over, and etcd is written to"
ETCD_AT=n1 etcd_ctl snapshot save "$T/backup.db" >/dev/null
former=$OWNER
fairlead "$former" vip move "$VIP"
wait_until 5 settled_on_other_than "$former"
load_start none
nap 4
kill_hard load-sw
OWNER=$(holders)
before=$(revision)

say "etcd loses everything, and is restored"
kill_hard etcd-n1 etcd-n2 etcd-n3
for node in "${NODES[@]}"; do
	restore "$node"
done
for node in "${NODES[@]}"; do
	etcd_start "$node"
done
wait_until 20 etcd_is_healthy
wait_until 10 settled
after=$(revision)
[[ $after -lt $before ]] || fail "revision $after is not below $before: nothing was put to the test"
say "$(holders) owns it at revision $after; $OWNER did at $before"
wait_until 12 each_noticed
wait_until 2 client_reaches "$(holders)"
for_seconds 1 settled

say "all is as before: it can be moved"
moving=$STEP
former=$(holders)
fairlead "$former" vip move "$VIP"
wait_until 5 settled_on_other_than "$former"
wire_check --from "$moving" --max-overlap-ms 0 --max-gap-ms 100 --expect-moves 1
