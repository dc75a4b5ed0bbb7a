#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Three nodes store in one bucket, and the retention of the bucket is over what all of them took: the
# node whose turn it is removes what is too much, whoever took it, the entry before the snapshot. What it
# finds there without an entry it counts and leaves alone. Where the data has shrunk nothing goes until an
# operator says so on one node. Operators list, prune and delete, here and there.
. "$(dirname "$0")/lib-etcdwatch.sh"

EW_SCHEDULE="0 0 1 1 *"
cluster_of_etcd
fill_etcd 20 1000
stores_up
EW_MORE="retention: {last: 10}
$(store_targets "site={last: 2}")"

remote_revisions() {
	store site list cluster-a/ --read '2*.json' | jq -r 'select(.content) | .content.revision' | sort -n | xargs
}

store_has_entries() { # COUNT
	[[ $(store_keys site | grep -c '\.json$') -eq $1 ]]
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

say "local and remote are one list"
fairlead "$taker" -o json etcd snapshot list >"$T/list"
expect_equal "where the newest is" "$(jq -r "select(.revision == $newest) | .where | join(\" \")" "$T/list")" \
	"local site"
expect_equal "where another node's is" "$(jq -r 'select(.id and .node == "'"${others[1]}"'") | .where | join(" ")' "$T/list")" \
	"site"
expect_equal "rows of snapshots" "$(jq -s 'map(select(.id)) | length' "$T/list")" 3
expect_equal "what it knows of another node" \
	"$(jq -r 'select(.newest and .node == "'"${others[1]}"'") | [.newest, .targets[]] | join(" ")' "$T/list")" \
	"$(jq -r 'select(.id and .node == "'"${others[1]}"'").id' "$T/list") site"
expect_equal "rows of this node alone" "$(fairlead "$taker" -o json etcd snapshot list --local | wc -l)" 2

say "what etcd holds shrinks: nothing goes in the bucket, and it is said, until an operator accepts it"
etcd_ctl del fill/ --prefix >/dev/null
nap 1.1
fairlead "$taker" etcd snapshot save >/dev/null
wait_until 60 store_has_entries 3
wait_until 30 target_is "$taker" site .state idle
fairlead "$taker" etcd snapshot jobs >"$T/status"
grep -q '^warning: minutely: site: nothing is deleted' "$T/status" || fail "$(cat "$T/status")"
fairlead "$taker" metrics etcdwatch |
	has_line '^fairlead_etcdwatch_target_frozen{job="minutely",target="site"} 1' || fail "no metric"
fairlead "${others[0]}" etcd snapshot accept >"$T/said" 2>&1 && fail "nothing is frozen there"
fairlead "$taker" etcd snapshot accept >"$T/said"
grep -q 'accepted as it is from revision' "$T/said" || fail "$(cat "$T/said")"
wait_until 60 store_has_entries 2
wait_until 30 target_is "$taker" site .frozen null
wait_until 30 job_is "$taker" .frozen null

say "what would go is said before it goes"
sed -i 's/retention: {last: 10}/retention: {last: 1}/' "$T/etcdwatch-$taker.yaml"
signal HUP "etcdwatch-$taker"
wait_until 20 log_says "etcdwatch-$taker" 'event=job_ready .*snapshots=3'
nap 1
wait_until 30 job_is "$taker" .state idle
fairlead "$taker" -o json etcd snapshot prune --dry-run >"$T/plan"
expect_equal "what would go here" "$(jq -r 'select(.where == "local" and .goes) | .id' "$T/plan" | wc -l)" 2
expect_equal "what would go there" "$(jq -r 'select(.where == "site" and .goes) | .id' "$T/plan" | wc -l)" 0
expect_equal "snapshots" "$(n_entries "$taker")" 3

say "nothing goes while etcd's alarm CORRUPT stands"
alarm() { # ACTION
	local id
	id=$(etcd_ctl member list | sed -n 's/^\([0-9a-f]*\),.* n3,.*/\1/p')
	inside sw curl -fsS --cacert "$PKI/etcd-trust.crt" --cert "$PKI/client-admin.crt" \
		--key "$PKI/client-admin.key" "https://$(mgmt_ip n1):2379/v3/maintenance/alarm" \
		-d "{\"action\": \"$1\", \"memberID\": \"$(printf %u "0x$id")\", \"alarm\": \"CORRUPT\"}" >/dev/null
}
alarm ACTIVATE
fairlead "$taker" -o json etcd snapshot prune >"$T/plan"
expect_equal "where it is frozen" "$(jq -r 'select(.frozen) | .where' "$T/plan" | sort | xargs)" "local site"
jq -r 'select(.frozen) | .frozen' "$T/plan" | has_line CORRUPT || fail "$(cat "$T/plan")"
expect_equal "snapshots" "$(n_entries "$taker")" 3
alarm DEACTIVATE

say "and then it goes"
fairlead "$taker" etcd snapshot prune >"$T/said"
grep -q 'it goes' "$T/said" || fail "$(cat "$T/said")"
expect_equal "snapshots" "$(n_entries "$taker")" 1

say "the last good one takes more than a word to delete"
last=$(entries "$taker" | jq -r .id)
fairlead "$taker" etcd snapshot delete "$last" >"$T/said" 2>&1 && fail "it was deleted"
grep -q -- '--force' "$T/said" || fail "$(cat "$T/said")"
expect_equal "snapshots" "$(n_entries "$taker")" 1
fairlead "$taker" etcd snapshot delete nothing >"$T/said" 2>&1 && fail "there is none"
old=$(fairlead "$taker" -o json etcd snapshot list | jq -r 'select(.where == ["site"]) | .id')
fairlead "$taker" etcd snapshot delete "$old" >"$T/said"
expect_equal "what it says" "$(cat "$T/said")" "deleted $old from site"
store_has_entries 1 || fail "$(store_keys site)"
fairlead "$taker" etcd snapshot delete "$last" --local --force >/dev/null
expect_equal "snapshots" "$(n_entries "$taker")" 0
store_has_entries 1 || fail "$(store_keys site)"

say "a store that fails between the two halves keeps no entry without its snapshot"
nap 1.1
fairlead "$taker" etcd snapshot save >/dev/null
wait_until 60 store_has_entries 2
wait_until 30 target_is "$taker" site .state idle
store_faults site 'DELETE/.db/1000/500'
fairlead "$taker" etcd snapshot delete "$last" --target site >"$T/said" 2>&1 && fail "it should fail"
expect_equal "entries" "$(store_keys site | grep -c '\.json$')" 1
store_keys site | has_line "$last.db" || fail "its snapshot should be there still"
expect_equal "rows that are there" \
	"$(fairlead "$taker" -o json etcd snapshot list | jq -r 'select(.where | index("site")) | .id' | wc -l)" 1
store_shut site
store_open site
nap 1.1
fairlead "$taker" etcd snapshot save >/dev/null
wait_until 60 log_says "etcdwatch-$taker" "event=leftover_removed .*$last"
wait_until 30 store_has_entries 2
expect_equal "objects" "$(store_keys site | wc -l)" 5

# The same etcd, so the same id of a cluster, under another prefix of keys: to the store it is another
# cluster, as a second site with the same addresses is.
say "another cluster with the same id and the same prefix does nothing there, and says whose it is"
own=$(cat "$T/state-$taker/owner")
keys=$(store_keys site)
node=${others[0]}
kill_hard "etcdwatch-$node"
rm -rf "$T/state-$node" "$(etcdwatch_directory "$node")"
EW_PREFIX=other/v1/
EW_MORE="retention: {last: 1}
$(store_targets "site={last: 1}")"
etcdwatch_start "$node"
wait_until 30 job_is "$node" .period_done true
fairlead "$node" etcd snapshot save >/dev/null 2>&1 || true
wait_until 60 log_says "etcdwatch-$node" "event=target_foreign .*belongs to another cluster, $own, since .* by its node"
other=$(cat "$T/state-$node/owner")
[[ $other != "$own" ]] || fail "both are $own"
target "$node" site .error | has_line "this one is $other" || fail "it does not name itself: $(target "$node" site .error)"
expect_equal "what it has stored" "$(target "$node" site .stored)" 0
fairlead "$node" metrics etcdwatch | has_line '^fairlead_etcdwatch_target_foreign{job="minutely",target="site"} 1' ||
	fail "no metric"
! fairlead "$node" etcd snapshot prune >"$T/said" 2>&1 || fail "it could prune there"
fairlead "$node" etcd snapshot list >"$T/said"
has_line "cannot ask site: .*another cluster, $own" <"$T/said" || fail "$(cat "$T/said")"
expect_equal "what is there" "$(store_keys site)" "$keys"

say "until an operator says that it takes the prefix over; then the other one does nothing there"
fairlead "$node" -o json etcd snapshot take-over site >"$T/said"
expect_equal "whose it was" "$(jq -r '"\(.before) \(.owner)"' "$T/said")" "$own $other"
wait_until 60 target_is "$node" site .stored 1
nap 1.1
fairlead "$taker" etcd snapshot save >/dev/null
wait_until 60 log_says "etcdwatch-$taker" "event=target_foreign .*belongs to another cluster, $other"
