#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# waits: for etcd, and for what it is told to be recorded
# One member of a real etcd, whose history changes: its data directory is copied back and other things
# are written, with the same last change; or it is restored from a snapshot. Moments of all histories are
# rebuilt by chance: each has the keys and the HashKV that etcd answered for it while it ran.
# From the environment: SEED, by which the changes come again; EPISODES, how often the history changes;
# N, how many moments are rebuilt.

. "$(dirname "$0")/lib-etcdwatch.sh"
NODES=(n1)
use past

: "${EPISODES:=3}" "${N:=12}"
HISTORY=0 # which one etcd has, from 0 on
BATCH=10  # of random_requests

record() { # FILTER
	fairlead n1 -o json etcd record status 2>/dev/null | jq -r "$1"
}

record_has() { # REVISION
	[[ $(record '.last_revision // 0') -ge $1 ]]
}

gaps_are() { # COUNT
	[[ $(record .gaps) == "$1" ]]
}

put() { # KEY VALUE
	echo "/v3/kv/put {\"key\":\"$(printf %s "$1" | base64)\",\"value\":\"$(printf %s "$2" | base64)\"}"
}

# All that a key has, one a line.
lines_of() {
	jq -r '"\(.key) \(.value // "") \(.create_revision) \(.mod_revision) \(.version) \(.lease // 0)"' | sort
}

# What etcd says of a revision, which is one to rebuild from now on.
remember() { # REVISION
	local file
	file=$T/moments/$HISTORY-$1
	echo "/v3/kv/range {\"key\":\"AA==\",\"range_end\":\"AA==\",\"revision\":\"$1\"}" | requests
	jq -c '.kvs // [] | .[]' "$T/answers" | lines_of >"$file"
	echo "$HISTORY $1 $(hashkv "$1")" >>"$T/moments.txt"
}

write_some() {
	local from to at
	from=$(revision)
	random_requests 20 $((BATCH++)) | requests
	to=$(revision)
	for ((at = from + 3; at <= to; at += 7)); do
		remember "$at"
	done
}

# The snapshot that a chain needs is there.
has_base() { # COUNT of the entries before
	[[ $(n_entries n1) -gt $1 ]]
}

etcd_back() { # the data directory of before
	kill_hard etcd-n1
	rm -rf "$T/etcd-n1"
	cp -a "$T/earlier" "$T/etcd-n1"
	etcd_start n1
	wait_until 30 etcd_is_healthy
}

# The record has noticed it, and the new history can be rebuilt from here on.
history_changed() { # ENTRIES-BEFORE GAPS
	wait_until 60 gaps_are "$2"
	wait_until 60 has_base "$1"
	HISTORY=$((HISTORY + 1))
}

# While etcdwatch is away etcd gets as far as it was, by another way, and the last change is the same.
roll_back_unseen() {
	local last entries
	put "/tail/$HISTORY" x | requests
	last=$(revision)
	wait_until 30 record_has "$last"
	kill_hard etcdwatch-n1
	etcd_back
	for ((at = $(revision); at < last - 1; at++)); do
		put "/other/$at" "$HISTORY"
	done | requests
	put "/tail/$HISTORY" x | requests
	expect_equal "the revision is the same" "$(revision)" "$last"
	[[ $((HISTORY % 2)) -eq 0 ]] || { put /further x; put /further y; } | requests
	entries=$(n_entries n1)
	etcdwatch_start n1
	history_changed "$entries" 1
	[[ $(record .last_gap.reason) == "the history changed: "* ]] || fail "it says: $(record .last_gap.reason)"
	gaps=1
}

roll_back_seen() {
	local entries
	wait_until 30 record_has "$(revision)"
	entries=$(n_entries n1)
	etcd_back
	history_changed "$entries" $((gaps += 1))
}

restore() {
	local entries
	wait_until 30 record_has "$(revision)"
	entries=$(n_entries n1)
	kill_hard etcd-n1
	etcd_restore n1 "restored-$HISTORY" n1
	etcd_start n1
	wait_until 30 etcd_is_healthy
	history_changed "$entries" $((gaps += 1))
}

cluster_of_etcd
install -d -o nobody -m 700 "$RECORD"
mkdir "$T/moments"
etcdwatch_start n1
wait_until 30 has_base 0
for id in 1701 1702 1703; do
	echo "/v3/lease/grant {\"ID\":\"$id\",\"TTL\":\"2$id\"}"
done | requests

gaps=0
for ((episode = 0; episode < EPISODES; episode++)); do
	write_some
	wait_until 30 record_has "$(revision)"
	case $((episode % 3)) in
	0 | 1)
		kill_hard etcd-n1
		rm -rf "$T/earlier"
		cp -a "$T/etcd-n1" "$T/earlier"
		etcd_start n1
		wait_until 30 etcd_is_healthy
		;;
	2) ETCD_AT=n1 etcd_ctl snapshot save "$T/backup.db" >/dev/null ;;
	esac
	write_some
	expect_equal "gaps so far" "$(record .gaps)" "$gaps"
	case $((episode % 3)) in
	0)
		say "etcd is rolled back while etcdwatch is away, and the last change is the same"
		roll_back_unseen
		;;
	1)
		say "etcd is rolled back"
		roll_back_seen
		;;
	2)
		say "etcd is restored"
		restore
		;;
	esac
done
write_some
write_some
wait_until 30 record_has "$(revision)"
expect_equal "chains" "$(record .chains)" $((HISTORY + 1))

# The first segments of the chains, in their order.
"$BUILD/tests/tools/recordcat" "$RECORD" | awk '$1 == "segment" && $3 == "begins" { print $2 }' |
	sort -t - -k 3 >"$T/chains"

rebuild_moment() { # REVISION [ARGUMENT...]
	rebuild --directory "$(etcdwatch_directory n1)" --to-revision "$@" >"$T/out" || true
	[[ $(jq .ok "$T/out") == true ]]
}

# The number under which the history is listed. Without --history the worker fails behind the list.
number_of() { # REVISION HISTORY
	{ "$T/bin/etcdwatch-worker" rebuild --record "$RECORD" --output "$T/rebuilt.db" \
		--directory "$(etcdwatch_directory n1)" --to-revision "$1" || true; } |
		jq -r --arg segment "$(sed -n "$(($2 + 1))p" "$T/chains")" \
			'.histories // [] | arrays | .[] | select(.segment == $segment) | .history'
}

check_moment() { # HISTORY REVISION HASH COMPACTED
	local number=
	if rebuild_moment "$2"; then
		n_single=$((n_single + 1))
	else
		expect_equal "why revision $2 is not rebuilt" "$(jq -r .error "$T/out")" HISTORY
		number=$(number_of "$2" "$1")
		[[ -n $number ]] || fail "history $1 is not listed for revision $2"
		rebuild_moment "$2" --history "$number" || fail "not rebuilt: $(cat "$T/out")"
		n_chosen=$((n_chosen + 1))
	fi
	expect_equal "the history of revision $2" "$(jq -r .history.segment "$T/out")" \
		"$(sed -n "$(($1 + 1))p" "$T/chains")"
	if [[ $4 -gt 0 ]]; then
		expect_equal "HashKV at $2 in history $1" \
			"$(worker prove --revision "$2" --compacted "$4" "$T/rebuilt.db" | jq .hashkv)" "$3"
	else
		expect_equal "HashKV at $2 in history $1" "$(jq .hashkv "$T/out")" "$3"
	fi
	"$FAIRLEAD" etcd snapshot get --prefix "" "$T/rebuilt.db" -o json | lines_of >"$T/keys"
	cmp "$T/moments/$1-$2" "$T/keys" >&2 || fail "the keys of revision $2 in history $1 differ"
}

say "moments of all histories, rebuilt, are what etcd had"
n_single=0 n_chosen=0
for ((round = 0; n_single + n_chosen < N; round++)); do
	while read -r history at hash compacted; do
		[[ $((n_single + n_chosen)) -lt $N ]] || break
		check_moment "$history" "$at" "$hash" "$compacted"
	done < <(shuf --random-source=<(yes "$SEED$round") "$T/moments.txt")
done
say "$((n_single + n_chosen)) of $(wc -l <"$T/moments.txt") moments in $((HISTORY + 1)) histories; $n_chosen had to be named"
expect "some had to be named" test "$n_chosen" -gt 0
expect "some had not" test "$n_single" -gt 0

say "fairlead lists the histories, and takes the one that is named"
restore_of() { # ARGUMENT...
	inside n1 env PATH="$ETCD_BIN:$PATH" "$FAIRLEAD" etcd restore --to-revision "$at" "$@" \
		--config "$T/etcdwatch-n1.yaml" --data-dir "$T/etcd-n1" --manifests "$T/none" --alone --name n1 \
		--rebuilt "$T/rebuilt.db" >"$T/out" 2>&1 || true
}
at=$(awk '{ print $2 }' "$T/moments.txt" | sort -n | uniq -d | tail -n 1)
rm -f "$T/rebuilt.db"
restore_of
expect "they are listed" grep -q "^history   2: revisions [0-9]* to [0-9]*, 20.*, recorded from .*\.rec on$" "$T/out"
expect "one must be named" grep -q "histories of etcd have revision $at: name one" "$T/out"
[[ ! -e $T/rebuilt.db ]] || fail "something was made"
restore_of --history latest
expect "the newest is taken" grep -q "^history   1 of [0-9]* that have it: .*$(tail -n 1 "$T/chains")" "$T/out"
