#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One store is down for a while: the other gets each snapshot all the same, and none is late. When it is
# back it gets what it lacks, the newest first, also from a process that was started meanwhile. Between a
# snapshot and its entry a store fails: nothing there counts, and when the snapshot goes from the node,
# what is left of it goes from the store. What retention would remove waits until each store has it. A file
# that the disk has changed is stored nowhere.
. "$(dirname "$0")/lib-etcdwatch.sh"

EW_SCHEDULE="0 0 1 1 *"
cluster_of_etcd
fill_etcd 5 1000
stores_up
EW_MORE="$(store_targets site far)
retention: {last: 3}"
dir=$(etcdwatch_directory n1)

site_has_all() { # what its retention keeps, and nothing of the half
	local id
	store_keys site >"$T/keys"
	! grep -q "$half" "$T/keys" || return 1
	for id in $(entries n1 | jq -r .id | sort | tail -n 3); do
		grep -q "$id.db$" "$T/keys" && grep -q "$id.json$" "$T/keys" || return 1
	done
}

say "site is down: n1 takes two, and far gets both"
store_shut site
etcdwatch_start n1
wait_until 30 has_entries 1 n1
first=$(entries n1 | jq -r .id)
wait_until 30 target_is n1 site .state retrying
nap 1.1 # their names have seconds
fairlead n1 -o json etcd snapshot save >"$T/saved.json"
second=$(jq -r .id "$T/saved.json")
wait_until 30 store_has far 2
expect_equal "pending for site" "$(target n1 site .pending)" 2
fairlead n1 etcd snapshot jobs >"$T/status"
grep -q "^warning: minutely: site: " "$T/status" || fail "it is not said: $(cat "$T/status")"
expect_equal "what goes wrong with far" "$(target n1 far .error)" null
fairlead n1 metrics etcdwatch >"$T/metrics"
for line in 'target_failing{job="minutely",target="site"} 1' 'target_failing{job="minutely",target="far"} 0' \
	'target_pending{job="minutely",target="site"} 2'; do
	grep -qF "fairlead_etcdwatch_$line" "$T/metrics" || fail "no $line"
done

say "another process finds site open, and stores both, the newest first"
signal TERM etcdwatch-n1
wait_exit 10 etcdwatch-n1
store_open site
etcdwatch_start n1
wait_until 60 store_has site 2
store_is_sound site
expect_equal "in which order" \
	"$(grep -o 'event=snapshot_copied .*target=site id=[^ ]*' "$LOG_DIR/etcdwatch-n1.log" | sed 's/.*id=//')" \
	"$second"$'\n'"$first"
wait_until 10 target_is n1 site .error null

say "site takes a snapshot and not its entry"
store_faults site 'PUT/.json/1000/500'
nap 1.1
fairlead n1 -o json etcd snapshot save >"$T/saved.json"
half=$(jq -r .id "$T/saved.json")
wait_until 60 target_is n1 site .state retrying
store_keys site | has_line "$half.db$" || fail "the snapshot should be there"
expect_equal "pending for site" "$(target n1 site .pending)" 1

say "what site lacks stays beyond retention"
for _ in 1 2 3 4; do
	nap 1.1
	fairlead n1 -o json etcd snapshot save >"$T/saved.json"
	: "${waits:=$(jq -r .id "$T/saved.json")}"
done
wait_until 10 has_entries 5 n1
wait_until 10 job_is n1 .waiting 2
fairlead n1 etcd snapshot jobs | has_line "^warning: minutely: kept beyond retention.*: 2" || fail "it is not said"
fairlead n1 metrics etcdwatch | has_line -F 'fairlead_etcdwatch_waiting{job="minutely"} 2' || fail "no metric"
fairlead n1 etcd snapshot prune --dry-run | has_line " local .*$waits *waiting" || fail "prune would not keep it"

say "an operator deletes one before it is whole there: then it goes from site too"
wait_until 10 fairlead n1 etcd snapshot delete "$half" --local # when nothing else is at work
wait_until 10 has_entries 4 n1
store_shut site
store_open site
wait_until 60 target_is n1 site .state idle
wait_until 10 target_is n1 site .pending 0
wait_until 60 site_has_all # and perhaps older ones: that depends on who did the period
store_is_sound site
expect "the log should say so" log_says etcdwatch-n1 "event=leftover_removed .*$half"
expect "site should have got it" log_says etcdwatch-n1 "event=snapshot_copied .*target=site id=$waits"
expect_equal "waiting" "$(job n1 .waiting)" 0

say "the disk has changed a file that was not stored yet"
store_shut site
store_shut far
nap 1.1
fairlead n1 -o json etcd snapshot save >"$T/saved.json"
bad=$(jq -r .file "$T/saved.json")
wait_until 30 target_is n1 site .state retrying
wait_until 10 has_entries 3 n1 # what waited is gone
printf X | dd of="$dir/$bad" bs=1 seek=5000 conv=notrunc 2>/dev/null
store_open site
store_open far
wait_until 60 log_says etcdwatch-n1 'event=snapshot_damaged '
wait_until 10 test -e "$dir/rejected/$bad"
for name in site far; do
	wait_until 60 target_is n1 "$name" .state idle
	! store_keys "$name" | has_line "$bad" || fail "it was stored in $name"
	store_is_sound "$name"
done
