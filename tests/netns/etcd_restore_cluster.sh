#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# etcd: 3.5
# timed: how long the address has no owner
# A cluster that was joined by learners, as kubeadm does it (etcd 3.5.16 does not write their promotion),
# is restored by one command: first all three nodes, then two while the third is not reached. Each time
# there is one cluster with the keys of the snapshot, and vipd on all nodes never has two owners.
. "$(dirname "$0")/lib/begin.sh"
FAIRLEAD_ETCD=3.5
VIP=10.86.0.5
OVERLAP_MS=0
use world lateness topology pki etcd wire tcp docs
world_enter "$@"
lateness_watch

ETCD_FROM=cl
MANIFEST=/etc/kubernetes/manifests/etcd.yaml

# etcd is a static pod of something like kubelet; vipd and etcdwatch are services.
node_prepare() { # NODE
	local etc=$T/disk-$1/etc
	docs_etcd "$1" /etc/etcd/pki client
	mkdir -p "$etc/kubernetes/manifests" "$T/disk-$1/var/lib/kubelet"
	echo "fileCheckFrequency: 2s" >"$T/disk-$1/var/lib/kubelet/config.yaml"
	echo "command: [etcd, --data-dir=/var/lib/etcd]" >"$T/disk-$1$MANIFEST"
	echo "command: [kube-apiserver]" >"$etc/kubernetes/manifests/kube-apiserver.yaml"
	cat >"$etc/fairlead/config.yaml" <<-YAML
		apiVersion: fairlead/v1
		kind: NodeConfig
		name: $1
		---
		apiVersion: fairlead/v1
		kind: EtcdClientConfig
		endpoints:
		- https://127.0.0.1:2379
		$(for node in "${NODES[@]}"; do echo "- https://$(mgmt_ip "$node"):2379"; done)
		caFile: /etc/etcd/pki/ca.crt
		certFile: /etc/etcd/pki/client.crt
		keyFile: /etc/etcd/pki/client.key
		---
		apiVersion: v1alpha1
		kind: Layer2VIPConfig
		name: $VIP
		link: eth0
		---
		apiVersion: fairlead/v1
		kind: VIPPolicyConfig
		healthCheck: {enabled: false}
	YAML
}

etcdctl() {
	ETCD_AT=${ETCD_AT:-cp-1} etcd_ctl "$@"
}

# As kubeadm join does it.
join() { # NODE
	local id
	# Refused until all members have been connected for five seconds.
	wait_until 20 etcdctl member add "$1" --learner --peer-urls="https://$(mgmt_ip "$1"):2380"
	id=$(etcdctl member list | awk -F ', ' -v url="https://$(mgmt_ip "$1"):2380" '$4 == url { print $1 }')
	docs_kubelet "$1"
	wait_until 30 etcdctl member promote "$id"
}

put() { # FIRST LAST
	local i
	for ((i = $1; i <= $2; i++)); do
		etcdctl put "/registry/$i" "value $i" >/dev/null
	done
}

# The cluster that the token of the last restore makes, seen by each of these nodes.
is_one_cluster() { # NODE...
	local node
	for node in "$@"; do
		[[ $(etcd_cluster_id "$node") == "$(jq -r 'select(.result).result.cluster_id' "$T/done")" ]] || return 1
	done
}

keys_of() { # NODE
	ETCD_AT=$1 etcdctl get /registry/ --prefix --keys-only | grep -c .
}

restore() { # ARGUMENT...
	docs-node cp-1 fairlead -o json etcd restore --yes "$@" >"$T/done" 2>"$T/steps" ||
		fail "not restored: $(cat "$T/done" "$T/steps")"
	cat "$T/steps" >>"$LOG_DIR/steps.log"
}

# In whole seconds, from the last stop of an old member to the first start of a new one.
pause_s() { # NODE...
	local node
	for node in "$@"; do
		jq -r '.times | .stopped, .started | sub("Z?$"; "Z") | fromdate' "$T/disk-$node/var/lib/fairlead/restore/state.json"
	done | awk 'NR % 2 { if ($1 > stop) stop = $1; next } !start || $1 < start { start = $1 } END { print start - stop }'
}

owner_is_seen() {
	held_by_one && inside cl ping -c 1 -W 1 "$VIP"
}

lan_up
pki_up
etcd_binaries
docs_nodes_up
for node in "${NODES[@]}"; do
	node_prepare "$node"
	sed -i -e 's/^ETCD_INITIAL_CLUSTER=.*/ETCD_INITIAL_CLUSTER=cp-1=https:\/\/10.86.0.11:2380/' \
		"$T/disk-$node/etc/default/etcd"
done
say "cp-1 begins, cp-2 and cp-3 join as learners and are promoted"
docs_kubelet cp-1
wait_until 30 etcdctl endpoint health
for node in cp-2 cp-3; do
	sed -i -e 's/^ETCD_INITIAL_CLUSTER_STATE=.*/ETCD_INITIAL_CLUSTER_STATE=existing/' "$T/disk-$node/etc/default/etcd"
	members=cp-1=https://10.86.0.11:2380,cp-2=https://10.86.0.12:2380
	[[ $node == cp-2 ]] || members+=,cp-3=https://10.86.0.13:2380
	sed -i "s|^ETCD_INITIAL_CLUSTER=.*|ETCD_INITIAL_CLUSTER=$members|" "$T/disk-$node/etc/default/etcd"
	join "$node"
done
wait_until 30 etcd_is_healthy
put 1 20
etcdctl snapshot save "$T/disk-cp-1/root/snapshot.db" >/dev/null
expect "the snapshot has learners: nothing else was put to the test" eval \
	'strings -n 8 "$T/disk-cp-1/root/snapshot.db" | has_line isLearner'
put 21 30
tcp_up
observe
observe_tcp
for node in "${NODES[@]}"; do
	docs-node "$node" systemctl start fairlead-vipd
done
wait_until 20 owner_is_seen

say "the plan changes nothing"
before=$(etcd_cluster_id cp-2)
docs-node cp-1 fairlead etcd restore --nodes all /root/snapshot.db >"$T/plan" 2>&1 || fail "no plan: $(cat "$T/plan")"
cat "$T/plan" >"$LOG_DIR/plan.log"
expect_equal "members in the plan" "$(grep -c "etcd.yaml" "$T/plan")" 3
expect_equal "the cluster" "$(etcd_cluster_id cp-2)" "$before"

say "a plan that would leave a member in the old cluster is refused, and nothing is stopped"
! docs-node cp-1 fairlead etcd restore --nodes all --yes --initial-cluster \
	cp-1=https://10.86.0.11:2380,cp-2=https://10.86.0.12:2380 /root/snapshot.db >"$T/out" 2>&1 || fail "restored without cp-3"
expect "it says of which member" grep -q "the member 'cp-3' at https://10.86.0.13:2380 is in the present cluster and not in the plan" "$T/out"
expect_equal "the cluster" "$(etcd_cluster_id cp-2)" "$before"

say "a manifest that was set aside before is not taken for the one that kubelet has"
mkdir "$T/disk-cp-2/etc/kubernetes/stopped"
cp "$T/disk-cp-2$MANIFEST" "$T/disk-cp-2/etc/kubernetes/stopped/"
! docs-node cp-1 fairlead etcd restore --nodes all --yes /root/snapshot.db >"$T/out" 2>&1 || fail "restored with two manifests"
expect "it says which" grep -q "both '.*/manifests/etcd.yaml' and '.*/stopped/etcd.yaml' exist" "$T/out"
rm -r "$T/disk-cp-2/etc/kubernetes/stopped"

# kubelet lets it end by itself.
api_server_runs_on() { # NODE
	cp "$(command -v sleep)" "$T/bin/kube-apiserver"
	docs-node "$1" bash -c 'kube-apiserver infinity &
		touch /var/lib/api-server-runs
		while [[ -e /etc/kubernetes/manifests/kube-apiserver.yaml ]]; do sleep 0.2; done
		sleep 3
		kill $!
		date +%s >/var/lib/api-server-ended' &
	PID[api-server-$1]=$!
	wait_until 10 test -e "$T/disk-$1/var/lib/api-server-runs"
}

api_server_runs_on cp-2
say "all three nodes are restored by one command"
restoring=$STEP
began=$(now_cs)
restore --nodes all /root/snapshot.db
took=$(($(now_cs) - began))
say "it took $(seconds_text "$took") s"
is_one_cluster "${NODES[@]}" || fail "they are not the cluster of the plan: $(cat "$T/done")"
expect_equal "members" "$(etcdctl member list | grep -c started)" 3
# vipd writes at the same time.
expect "all have the one revision that it tells" jq -es 'map(.result // empty)[0] | .revision as $r |
	$r > 1000000000 and (.nodes | length == 3 and all(.health.revision >= $r))' "$T/done"
for node in "${NODES[@]}"; do
	expect_equal "keys of $node" "$(keys_of "$node")" 20
	expect "the manifests are back on $node" test -e "$T/disk-$node/etc/kubernetes/manifests/kube-apiserver.yaml"
	docs-node "$node" fairlead -o json etcd restore status >"$T/status"
	expect_equal "its phase" "$(jq -r .phase "$T/status")" done
	expect "kubelet had the time to notice" eval '(($(jq ".times | (.stopped | fromdate) - (.stopping | fromdate)" "$T/status") >= 4))'
	# The manifests of all went at the same time, but not the process.
	[[ $node != cp-2 ]] || expect "its API server had ended" eval \
		'(($(jq ".times.stopped | fromdate" "$T/status") - $(<"$T/disk-cp-2/var/lib/api-server-ended") >= 4))'
	expect "its old data is there" eval '[[ -d $(echo "$T/disk-$node"/var/lib/etcd.before-restore-*) ]]'
	expect "nothing is left over" test ! -e "$T/disk-$node/var/lib/etcd.restoring"
done
wait_until 20 owner_is_seen
wire_check --from "$restoring" --max-overlap-ms 0 --allow-silence

say "cp-3 is not reached, and goes on as the owner in the old cluster"
docs-node cp-1 fairlead vip hold >/dev/null
docs-node cp-2 fairlead vip hold >/dev/null
wait_until 10 held_by cp-3
docs-node cp-1 fairlead vip unhold >/dev/null
docs-node cp-2 fairlead vip unhold >/dev/null
touch "$T/disk-cp-3/unreachable"
put 21 30
! docs-node cp-1 fairlead etcd restore --nodes all --yes /root/snapshot.db >"$T/out" 2>&1 || fail "restored without cp-3"
expect "it says what to do" grep -q -- "--without" "$T/out"
expect_equal "keys" "$(keys_of cp-2)" 30
restoring=$STEP
restore --nodes all --without 10.86.0.13 /root/snapshot.db
# 2.86 s with the default window, between moments that are written in whole seconds.
expect "the fence of cp-3 was waited for" test "$(pause_s cp-1 cp-2)" -ge 2
is_one_cluster cp-1 cp-2 || fail "they are not the cluster of the plan: $(cat "$T/done")"
for node in cp-1 cp-2; do
	expect_equal "keys of $node" "$(keys_of "$node")" 20
done
expect "cp-3's old member has no quorum" eval '! ETCD_AT=cp-3 etcdctl get nothing'
# vipd keeps to the old cluster as long as one member of it answers.
for_seconds 4 held_by
say "cp-3 loses its power, and the others go along with the new cluster"
kill_hard kubelet-cp-3
for file in "$T"/disk-cp-3/*.pid; do
	kill -KILL "$(<"$file")"
done
wait_until 30 owner_is_seen
expect "the owner is of the new cluster" held_by_other_than cp-3
wire_check --from "$restoring" --max-overlap-ms 0 --allow-silence
