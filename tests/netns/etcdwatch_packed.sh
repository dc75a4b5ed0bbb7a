#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Snapshots are compressed and encrypted for two recipients, by the programs that everybody has: either
# key opens them, and what comes out is what etcd's own tool calls a whole snapshot. Old ones go, as the
# job says, and the newest stays. A reload with errors changes nothing; one without is a new start.
. "$(dirname "$0")/lib-etcdwatch.sh"

EW_SCHEDULE="0 0 1 1 *"
cluster_of_etcd
fill_etcd 20 10000
for who in one two; do
	age-keygen -o "$T/$who.key" 2>/dev/null
done
EW_PACKING="compression: {algorithm: zstd, level: 3}
encryption: {recipients: [$(age-keygen -y "$T/one.key"), $(age-keygen -y "$T/two.key")]}"
EW_MORE="retention: {last: 2, hourly: 0, daily: 0, weekly: 0, monthly: 0}"

say "n1 takes one and packs it"
etcdwatch_start n1
wait_until 30 has_entries 1 n1
wait_until 10 job_is n1 .state idle
entries_are_sound n1
dir=$(etcdwatch_directory n1)
file=$dir/$(entries n1 | jq -r .file)
[[ $file == *.db.zst.age ]] || fail "it is called $file"
expect_equal "plain files" "$(find "$dir" -name '*.db' | wc -l)" 0
for who in one two; do
	age -d -i "$T/$who.key" "$file" | zstd -dqc >"$T/$who.db"
	expect_equal "revision of what $who opens" \
		"$(ETCDCTL_API=3 "$ETCD_BIN/etcdctl" snapshot status --write-out json "$T/$who.db" 2>/dev/null | jq .revision)" \
		"$(entries n1 | jq .revision)"
done

say "three more: two stay, the newest among them"
for _ in 1 2 3; do
	nap 1.1 # their names have seconds
	fairlead n1 -o json etcd snapshot save >"$T/saved.json"
done
wait_until 10 has_entries 2 n1
entries n1 | jq -r .id | has_line -x "$(jq -r .id "$T/saved.json")" || fail "the newest is gone"
expect_equal "files" "$(find "$dir" -type f | wc -l)" 4
entries_are_sound n1

say "a reload with errors changes nothing"
pid=${PID[etcdwatch-n1]}
cp "$T/etcdwatch-n1.yaml" "$T/good.yaml"
echo "schedle: nonsense" >>"$T/etcdwatch-n1.yaml"
signal HUP etcdwatch-n1
wait_until 5 log_says etcdwatch-n1 'event=reload_refused '
job_is n1 .state idle || fail "it has changed"

say "one without is a new start"
sed 's/last: 2/last: 1/' "$T/good.yaml" >"$T/etcdwatch-n1.yaml"
signal HUP etcdwatch-n1
wait_until 10 log_says etcdwatch-n1 'event=reload jobs=1'
wait_until 10 job_is n1 .kept 0
expect_equal "its process" "$pid" "${PID[etcdwatch-n1]}"
alive etcdwatch-n1 || fail "it is gone"
wait_until 10 job_is n1 .period_done true
nap 1.1
fairlead n1 etcd snapshot save >/dev/null
wait_until 10 has_entries 1 n1
