#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What one of three nodes takes goes to two stores: encrypted with age, the snapshot first and its entry
# last. It comes back from there by age and zstd alone, and is what etcd's own tool calls a whole
# snapshot. A node that starts with what a store lacks takes it there, the newest first, and what was
# cut off in the middle is gone on with.
. "$(dirname "$0")/lib-etcdwatch.sh"

EW_SCHEDULE="0 0 1 1 *"
cluster_of_etcd
fill_etcd 20 10000
stores_up
age-keygen -o "$T/one.key" 2>/dev/null
EW_PACKING="compression: {algorithm: zstd, level: 3}
encryption: {recipients: [$(age-keygen -y "$T/one.key")]}"
EW_MORE=$(store_targets site far)

say "the node that takes it stores it in both"
etcdwatch_start "${NODES[@]}"
wait_until 30 has_entries 1
taker=$(entries | jq -r .node)
for name in site far; do
	wait_until 60 target_is "$taker" "$name" .state idle
	wait_until 10 target_is "$taker" "$name" .stored 1
	store_has "$name" 1 || fail "in $name: $(store_keys "$name")"
	store_is_sound "$name"
	expect_equal "pending in $name" "$(target "$taker" "$name" .pending)" 0
done
expect_equal "copies that its entry records" "$(entries "$taker" | jq -r '[.copies[].target] | sort | join(" ")')" \
	"far site"
expect_equal "what the entry says of the period" \
	"$(entries "$taker" | jq -r .period)" "$(job "$taker" .period)"
expect "the log should say it" log_says "etcdwatch-$taker" 'event=snapshot_copied .*target=far '
fairlead "$taker" metrics etcdwatch |
	has_line '^fairlead_etcdwatch_target_stored_total{job="minutely",target="site"} 1' || fail "no metric"
fairlead "$taker" etcd snapshot jobs | has_line "site .*idle" || fail "it is not shown"

say "it comes back by age and zstd alone"
for name in site far; do
	file=$(find "$T/fetched-$name" -name '*.age')
	age -d -i "$T/one.key" "$file" | zstd -dqc >"$T/back.db"
	expect_equal "etcdctl's status of what came back from $name" \
		"$(ETCDCTL_API=3 "$ETCD_BIN/etcdctl" snapshot status --write-out json "$T/back.db" 2>/dev/null |
			jq -r '"\(.hash) \(.revision) \(.totalKey) \(.totalSize)"')" \
		"$(entries "$taker" | jq -r '"\(.hash) \(.revision) \(.total_key) \(.db_bytes)"')"
	fairlead n1 etcd snapshot verify "$T/back.db" >/dev/null || fail "it is not sound"
done

say "a store forgets everything: the newest is stored again when the node starts"
store_keys far | while read -r key; do store far rm "$key" >/dev/null; done
signal TERM "etcdwatch-$taker"
wait_exit 10 "etcdwatch-$taker"
etcdwatch_start "$taker"
wait_until 60 store_has far 1
store_is_sound far
store_has site 1 || fail "in site: $(store_keys site)"
