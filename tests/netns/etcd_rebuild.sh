#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Three members of a real etcd, random changes: puts, deletions, ranges, transactions, leases that are
# revoked or end, compactions, another leader; one node records them. From a snapshot of the beginning
# and the record, every tenth revision is rebuilt, and has the HashKV that a member answered for it.
# At the end the cluster is gone, and the last but one moment is restored and started.
# From the environment: SEED, by which the changes come again.

. "$(dirname "$0")/lib-etcdwatch.sh"

use past

declare -A HASH

# What the member of n1 says of every tenth revision behind the last one that was asked for.
asked=0
ask_hashes() {
	local to revision
	to=$(revision)
	for ((revision = asked / 10 * 10 + 10; revision <= to; revision += 10)); do
		HASH[$revision]=$(hashkv "$revision")
	done
	asked=$to
}

# --- the record ---------------------------------------------------------------------------------------

# From a snapshot of the job, with all leases that keys hang on.
record_reaches() { # REVISION
	rebuild --directory "$(etcdwatch_directory n1)" --to-revision "$1" |
		jq -e '.ok and .unknown_leases == 0' >/dev/null
}

short_is_gone() {
	etcd_ctl get /short --write-out json | jq -e '.header and (.count // 0) == 0' >/dev/null
}

hold() { # LEASE: a key that nothing else touches
	echo "/v3/kv/put {\"key\":\"$(printf '/held/%s' "$1" | base64)\",\"value\":\"eA==\",\"lease\":\"$1\"}"
}

cluster_of_etcd
install -d -o nobody -m 700 "$RECORD"
etcdwatch_start n1
# From 3.6 on etcd does not tell a watch how far it is before there is a change that the watch sees.
is_recorded() {
	ctl put /first x >/dev/null
	compgen -G "$RECORD/*.rec" >/dev/null
}
wait_until 20 is_recorded
wait_until 30 eval '[[ $(n_entries n1) -gt 0 ]]'

say "changes, by chance, and a snapshot"
{
	for id in 1701 1702 1703; do
		echo "/v3/lease/grant {\"ID\":\"$id\",\"TTL\":\"${id#1}\"}"
		hold "$id"
	done
	random_requests 30 1
} | requests
ask_hashes
ETCD_AT=n1 ctl snapshot save "$T/base.db" >/dev/null
base=$(worker prove "$T/base.db" | jq .revision)
random_requests 30 2 | requests
ask_hashes

say "another leader, a lease that ends, one that is revoked, a compaction"
leader=$(etcd_leader)
etcd_move_leader "$(node_other_than "$leader")"
wait_until 30 etcd_is_healthy
{
	echo '/v3/lease/grant {"ID":"1001","TTL":"1"}'
	echo "/v3/kv/put {\"key\":\"$(printf /short | base64)\",\"value\":\"eA==\",\"lease\":\"1001\"}"
	random_requests 15 3
	echo '/v3/lease/revoke {"ID":"1702"}'
	echo '/v3/lease/grant {"ID":"1702","TTL":"702"}'
	hold 1702
	echo '/v3/lease/grant {"ID":"1704","TTL":"704"}'
	hold 1704
	random_requests 15 4
} | requests
wait_until 30 short_is_gone
ask_hashes
# Or it would have lost what is compacted, and say so.
wait_until 60 record_reaches "$asked"
echo "/v3/kv/compaction {\"revision\":\"$((asked - 3))\",\"physical\":true}" | requests
random_requests 30 5 | requests
ask_hashes
last=$(revision)
ctl get --prefix / --rev $((last - 1)) >"$T/before"

say "every tenth revision, rebuilt, is what the member had"
wait_until 60 record_reaches "$last"
n=0
for at in "${!HASH[@]}"; do
	[[ $at -ge $base ]] || continue
	read -r hash compacted <<<"${HASH[$at]}"
	rebuild --base "$T/base.db" --to-revision "$at" >"$T/out"
	expect_equal "revision $at is rebuilt" "$(jq -c '[.ok, .revision]' "$T/out")" "[true,$at]"
	if [[ $compacted -gt 0 ]]; then
		got=$(worker prove --revision "$at" --compacted "$compacted" "$T/rebuilt.db" | jq .hashkv)
	else
		got=$(jq .hashkv "$T/out")
	fi
	expect_equal "HashKV at $at" "$got" "$hash"
	n=$((n + 1))
done
expect "there were some" test "$n" -ge 5
worker rebuild --record "$RECORD" --output "$T/picked.db" --directory "$(etcdwatch_directory n1)" >"$T/out" ||
	fail "not rebuilt: $(cat "$T/out")"
expect_equal "the members of what it began with" "$(jq -c .base.members "$T/out")" \
	"$(jq -c .members "$(etcdwatch_directory n1)/$(jq -r .base.id "$T/out").json")"
expect_equal "their names" "$(jq -r '[.base.members[].name] | sort | join(" ")' "$T/out")" "n1 n2 n3"

say "what cannot be had is refused, and nothing is left"
rebuild --base "$T/base.db" --to-revision $((last + 1)) >"$T/out" || true
expect "the nearest is said" grep -q "the nearest that can be had is $last;" "$T/out"
rebuild --base "$T/base.db" --to-time 2000-01-01T00:00:00Z >"$T/out" || true
expect "how far it reaches is said" grep -q "UNREACHABLE.*revisions .* to $last" "$T/out"
expect_equal "what is left" "$(find "$T" -maxdepth 1 -name '*rebuilt*')" ""
mkdir "$T/small"
mount -t tmpfs -o size=16k tmpfs "$T/small"
worker rebuild --record "$RECORD" --output "$T/small/rebuilt.db" --base "$T/base.db" >"$T/out" || true
expect "too little room is said before it begins" grep -q '"NO_SPACE".* MB are free in .* MB are needed: ' "$T/out"
worker rebuild --record "$RECORD" --output "$T/small/rebuilt.db" --directory "$(etcdwatch_directory n1)" >"$T/out" || true
expect "also of one that is picked" grep -q '"NO_SPACE".* MB are free in .* MB are needed: ' "$T/out"
expect_equal "what is left there" "$(find "$T/small" -mindepth 1)" ""
umount "$T/small"

say "the cluster is gone: the moment before the last change is restored, and started"
kill_hard etcdwatch-n1 etcd-n1 etcd-n2 etcd-n3
ETCD_AT=n1
inside n1 env PATH="$ETCD_BIN:$PATH" "$FAIRLEAD" etcd restore --to-revision $((last - 1)) \
	--config "$T/etcdwatch-n1.yaml" --data-dir "$T/etcd-n1" --manifests "$T/none" --bump-revision 0 \
	--alone --name n1 --yes \
	>"$T/out" 2>&1 || fail "not restored: $(cat "$T/out")"
expect "it says from what" grep -Eq "^rebuilt +revision $((last - 1))," "$T/out"
expect "the snapshot stays" test -s "$T/etcd-n1.rebuilt.db"
etcd_start n1
wait_until 30 etcd_is_healthy
expect_equal "its revision" "$(revision)" "$((last - 1))"
ctl get --prefix / >"$T/after"
expect_equal "its keys" "$(cat "$T/after")" "$(cat "$T/before")"
for id in 1701 1702 1703 1704; do
	expect_equal "lease $id" "$(ctl lease timetolive --write-out json "$(printf %x "$id")" |
		jq '."granted-ttl"')" "${id#1}"
done
