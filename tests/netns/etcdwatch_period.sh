#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# waits: for periods to begin
# Three nodes, one job: each period has one snapshot, by one node, that another member has confirmed.
# The etcd's own tool says the same of it; what is not due is not taken; out of schedule it is taken
# when somebody asks, which is no business of the period's. All clocks of etcdwatch are moved over most of
# a minute; it begins by itself.
. "$(dirname "$0")/lib-etcdwatch.sh"

cluster_of_etcd
fill_etcd 30
leader=$(etcd_leader)
clock_own DONT_FAKE_MONOTONIC=1

say "etcdwatch starts on all three: the period that is under way has no snapshot yet"
clock_forward_to "$(clock_next_minute)"
next=$(clock_next_minute)
etcdwatch_start "${NODES[@]}"
wait_until 30 has_entries 1
for node in "${NODES[@]}"; do
	wait_until 30 job_is "$node" .period_done true
done
entries_are_sound "${NODES[@]}"
expect_equal "the taker's member" "$(entries | jq -r .member.name)" "$(job n1 .done_by)"
[[ $(job n1 .done_by) != "$leader" ]] || fail "etcd's leader was chosen"

say "somebody asks for one, on a node that did not take it"
other=$(node_other_than "$(job n1 .done_by)")
fairlead "$other" -o json etcd snapshot save >"$T/saved.json"
expect_equal "who confirmed it, unless it is its own member" \
	"$(jq -r '.verified.hashkv != null and .verified.hashkv != .member.name' "$T/saved.json")" true
expect_equal "snapshots on $other" "$(n_entries "$other")" 1
fairlead "$other" -o json etcd snapshot list >"$T/list.json"
expect_equal "what it lists" "$(jq -r 'select(.id).id' "$T/list.json")" "$(jq -r .id "$T/saved.json")"
taker=$(job n1 .done_by)
expect_equal "what it knows of the taker" "$(jq -r 'select(.newest) | [.node, .newest, .revision, .compared] | join(" ")' "$T/list.json")" \
	"$taker $(entries "$taker" | jq -r '[.id, .revision] | join(" ")') true"
expect_equal "with --local" "$(fairlead "$other" -o json etcd snapshot list --local | jq -s 'map(select(.newest)) | length')" 0

say "the next period, after etcd was compacted: one more, and no second"
fill_etcd 30
etcd_ctl compact "$(($(ETCD_AT=n1 etcd_ctl endpoint status --write-out json | jq '.[0].Status.header.revision') - 5))" >/dev/null
clock_forward_to $((next - 4))
wait_until 75 has_entries 3
for node in "${NODES[@]}"; do
	wait_until 30 job_is "$node" .period_done true
done
entries_are_sound "${NODES[@]}"
for_seconds 6 has_entries 3

say "etcd is stopped, and a node that did not take the last one names it in the plan of a restore"
# All know who took the last one, and the next one is some seconds away.
is_settled() {
	local node
	for node in "${NODES[@]}"; do
		job "$node" 'select(.period_done and .next_due_s > 5) | [.period, .done_by] | join(" ")'
	done | sort | uniq -c | grep -q "^ *3 20"
}
wait_until 75 is_settled
taker=$(job n1 .done_by)
for node in "${NODES[@]}"; do
	[[ $node == "$taker" || $(n_entries "$node") == 0 ]] || other=$node
done
newest=$(entries "$taker" | jq -rs 'max_by(.finished).id')
plan() {
	inside "$other" env PATH="$ETCD_BIN:$PATH" "$FAIRLEAD" -r "$T/run-$other" etcd restore --data-dir "$T/new/etcd" \
		--config "$T/etcdwatch-$other.yaml" latest >"$T/plan" 2>&1 || true
}
mkdir "$T/new"
kill_hard etcd-n1 etcd-n2 etcd-n3
plan
has_line "^elsewhere  *newest known: $taker, $newest, 20.* [(]read from etcd at 20.*Z; now: " <"$T/plan" || fail "the plan: $(cat "$T/plan")"
has_line "a newer one is known: node $taker took $newest, revision" <"$T/plan" || fail "the plan: $(cat "$T/plan")"
kill_hard "etcdwatch-$other"
plan
has_line "^elsewhere  *not compared: etcdwatch does not answer on this node" <"$T/plan" || fail "the plan: $(cat "$T/plan")"
