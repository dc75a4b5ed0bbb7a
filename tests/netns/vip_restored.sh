#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# etcd is restored from a backup, with its old name and revisions: the record names an owner of long
# ago, and numbers that everybody has seen come again. The nodes notice, nobody believes what he knew,
# and after a window there is one owner again; never two.
. "$(dirname "$0")/lib.sh"

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
	etcd_restore "$node" story "${NODES[@]}"
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

# The ordinary restore: another token, so another cluster. No node has an endpoint of the old one.
say "etcd is restored as another cluster, and all go along with it"
former=$(etcd_cluster_id n1)
kill_hard etcd-n1 etcd-n2 etcd-n3
for node in "${NODES[@]}"; do
	etcd_restore "$node" another "${NODES[@]}"
done
for node in "${NODES[@]}"; do
	etcd_start "$node"
done
wait_until 20 etcd_is_healthy
[[ $(etcd_cluster_id n1) != "$former" ]] || fail "the id is the old one: nothing was put to the test"
for node in "${NODES[@]}"; do
	wait_until 10 log_says "vipd-$node" "etcd_cluster old=$former new=$(etcd_cluster_id n1)"
done
wait_until 15 settled
for node in "${NODES[@]}"; do
	expect_equal "warnings of $node" "$(status "$node" '.warnings | length')" 0
done
wait_until 2 client_reaches "$(holders)"
for_seconds 3 settled
