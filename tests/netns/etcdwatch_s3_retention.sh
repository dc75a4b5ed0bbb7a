#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# limit: 240
# Three nodes store in one bucket, and the retention of the bucket is over what all of them took: the
# node whose turn it is removes what is too much, whoever took it, the entry before the snapshot. What it
# finds there without an entry it counts and leaves alone.
. "$(dirname "$0")/lib-etcdwatch.sh"

EW_SCHEDULE="0 0 1 1 *"
cluster_of_etcd
fill_etcd 20 1000
stores_up
EW_MORE="retention: {last: 10}
$(store_targets "site={last: 2}")"

remote_revisions() {
	store site list cluster-a/ --read .json | jq -r 'select(.content) | .content.revision' | sort -n | xargs
}

say "each of three nodes takes one because somebody asks, and stores it"
etcdwatch_start "${NODES[@]}"
wait_until 30 has_entries 1
taker=$(entries | jq -r .node)
wait_until 60 store_has site 1
others=()
for node in "${NODES[@]}"; do
	[[ $node == "$taker" ]] || others+=("$node")
done
for node in "${others[@]}"; do
	wait_until 30 job_is "$node" .period_done true
	etcd_ctl put more "$node" >/dev/null
	fairlead "$node" etcd snapshot save >/dev/null
	wait_until 60 target_is "$node" site .stored 1
done
wait_until 30 store_has site 3
for_seconds 2 store_has site 3

say "whose turn it is removes what is too much, whoever took it"
cluster=$(entries "$taker" | jq -r .cluster_id)
echo stray >"$T/stray"
store site put "$T/stray" "cluster-a/$cluster/20200101T000000Z-minutely-n9-r1.db" >/dev/null
etcd_ctl put more and-more >/dev/null
fairlead "$taker" -o json etcd snapshot save >"$T/saved.json"
newest=$(jq -r .revision "$T/saved.json")
wait_until 60 target_is "$taker" site .pruned 2
expect_equal "what is there" "$(remote_revisions)" \
	"$(entries "${others[1]}" | jq -r .revision) $newest"
expect_equal "objects" "$(store_keys site | wc -l)" 5
expect_equal "strays that it counts" "$(target "$taker" site .strays)" 1
expect_equal "snapshots that it counts" "$(target "$taker" site .snapshots)" 2
expect_equal "snapshots on the nodes" "$(n_entries)" 4
for_seconds 2 target_is "$taker" site .pending 0
