#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# waits: for etcd, and for what it is told to be recorded
# While somebody writes, the member that is recorded from is killed, then etcdwatch itself: nothing that
# was synced is lost, and the record goes on without a gap. What is compacted while etcdwatch is away is
# lost, which the record states; another chain begins, and it is a finding until there is a snapshot that
# it can stand on, which a job is asked for until one comes. So is a deletion that is too large to be watched.
. "$(dirname "$0")/lib-etcdwatch.sh"
use findings

RECORD=$T/record-n1
EW_SCHEDULE="0 0 1 1 *"
EW_MORE="catchUp: false
---
apiVersion: fairlead/v1
kind: EtcdWatchConfig
interval: 1s
rules: [{id: record-gap, after: 0s}]
record: {directory: $RECORD, keep: 72s, reserve: 1MiB, hashEvery: 1s}"

record() { # FILTER
	fairlead n1 -o json etcd record status 2>/dev/null | jq -r "$1"
}

record_is() { # FILTER VALUE
	[[ $(record "$1") == "$2" ]]
}

# Synced up to there.
record_has() { # REVISION
	local last
	last=$(record .last_revision)
	[[ ${last:-null} != null && $last -ge $1 ]]
}

ask_revision() {
	ETCD_AT="n2 n3" etcd_ctl get nothing --write-out json | jq -e .header.revision >"$T/revision"
}

# Without a leader it takes a while.
revision() {
	wait_until 30 ask_revision
	cat "$T/revision"
}

# An answer may have been lost.
compact() { # REVISION
	etcd_ctl compact "$1" || tail -n 1 "$LOG_DIR/etcdctl.log" | has_line 'has been compacted'
}

now_us() {
	echo "${EPOCHREALTIME//[!0-9]/}"
}

# Twenty times a second, into $T/ticks, as far as the machine lets it.
tick_on() {
	local never
	exec {never}<> <(:)
	while [[ ! -e $T/enough ]]; do
		now_us
		read -r -t 0.05 -u "$never" || :
	done >"$T/ticks"
}

# By how much the ticks came late in the 5 s up to then.
stood_still_ms() { # TIME_US
	echo "$1" | cat "$T/ticks" - | awk -v by="$1" '
		$1 > by { next }
		last >= by - 5000000 && $1 - last > 60000 { late += $1 - last - 60000 }
		{ last = $1 }
		END { print int(late / 1000) }'
}

# One key after the other; $T/acked has when each was there for certain.
write_on() {
	local i
	for ((i = 0; ; i++)); do
		[[ ! -e $T/enough ]] || return 0
		ETCD_AT="n2 n3" etcd_ctl put "w/$i" "$i" >/dev/null || continue
		echo "$(now_us) w/$i" >>"$T/acked"
	done
}

# What is on the disk, into $T/content.
read_record() {
	"$BUILD/tests/tools/recordcat" "$RECORD" >"$T/content"
	! grep damaged "$T/content" || fail "the record is damaged"
}

# Every revision from the first to the last, in one chain.
expect_unbroken() { # CONTENT
	awk '$1 == "put" || $1 == "delete" { print $2 }' "$1" | uniq >"$T/revisions"
	expect_equal "revisions that are missing" \
		"$(awk 'NR > 1 && $1 != last + 1 { print last + 1 } { last = $1 }' "$T/revisions")" ""
	expect_equal "chains" "$(grep -c '^segment .* begins' "$1")" 1
	! grep -q '^gap' "$1" || fail "there is a gap"
}

# What was written by then and is not in the record: since when that is, in ms before then.
lost_ms() { # TIME_US
	awk -v by="$1" '
		FNR == NR { if ($1 == "put") have[$4] = 1; next }
		$1 <= by && !($2 in have) { print int((by - $1) / 1000); found = 1; exit }
		END { if (!found) print 0 }' "$T/content" "$T/acked"
}

cluster_of_etcd
install -d -o nobody -m 700 "$RECORD"

say "n1 records, from its own member, and asks for a snapshot"
etcdwatch_start n1
wait_until 30 record_is .state recording
wait_until 20 record_is .member n1
wait_until 30 has_entries 1 n1
expect "the job should have been asked" log_says etcdwatch-n1 event=record_asks_for_base
write_on &
writer=$!
tick_on &
ticker=$!
wait_until 30 record_has $(($(revision) + 10))

say "its member is killed"
kill_hard etcd-n1
at=$(revision)
wait_until 30 record_has $((at + 10))
[[ $(record .member) != n1 ]] || fail "it is recorded from the member that was killed"
expect_equal "gaps" "$(record .gaps)" 0
etcd_start n1

say "etcdwatch is killed"
synced=$(record .last_revision)
killed_us=$(now_us)
kill_hard etcdwatch-n1
read_record
expect_unbroken "$T/content"
last=$(tail -n 1 "$T/revisions")
[[ $last -ge $synced ]] || fail "synced up to $synced, and $last is the last that is there"
lost=$(lost_ms "$killed_us")
stood=$(stood_still_ms "$killed_us")
say "synced up to $synced, there up to $last; $lost ms of what was written are lost, $stood ms the machine stood still"
[[ $lost -le $((1000 + stood)) ]] || fail "more than a second is lost"

say "what is there can be had again, from the snapshot of when etcd was empty"
expect_equal "its revision" "$(entries n1 | jq .revision)" 0
"$T/bin/etcdwatch-worker" rebuild --record "$RECORD" --output "$T/rebuilt.db" \
	--directory "$(etcdwatch_directory n1)" --to-revision "$last" >"$T/out" || cat "$T/out"
tail -n 1 "$T/out" | jq -e .ok >/dev/null || fail "it cannot be rebuilt"

say "and it goes on without a gap"
etcdwatch_start n1
wait_until 30 record_has "$(revision)"
expect_equal "gaps" "$(record .gaps)" 0
by_us=$(now_us)
wait_until 30 record_has "$(revision)"
wait_until 30 record_is '.hashes > 0' true
read_record
expect_unbroken "$T/content"
expect_equal "ms of what was written that are lost" "$(lost_ms "$by_us")" 0
has_line '^hash ' "$T/content" || fail "no HashKV is in the record"

begins "etcd compacts while etcdwatch is away"
kill_hard etcdwatch-n1
read_record
last=$(awk '$1 == "put" || $1 == "delete" { print $2 }' "$T/content" | tail -n 1)
touch "$T/enough"
wait "$writer" "$ticker"
for i in 1 2 3; do
	wait_until 30 etcd_ctl put "away/$i" x
done
compacted=$(revision)
wait_until 30 compact "$compacted"
chmod 500 "$(etcdwatch_directory n1)"
etcdwatch_start n1
wait_until 30 record_is .gaps 1
expect_equal "the gap" "$(record '.last_gap | "\(.first_revision) \(.last_revision)"')" "$((last + 1)) $compacted"
expect "it should be in the log" \
	log_says etcdwatch-n1 "event=record_gap first=$((last + 1)) last=$compacted "
fairlead n1 metrics etcdwatch | has_line '^fairlead_etcdwatch_record_gaps_total 1$' || fail "the metrics do not say so"
wait_until 30 etcd_ctl put behind x
wait_until 30 record_has "$(revision)"
found record-gap any
[[ $(health '.[1:][].sentence') == *"revisions $((last + 1)) to $compacted are lost to the record"* ]] ||
	fail "the finding does not say what is lost"
chmod 700 "$(etcdwatch_directory n1)"
wait_until 60 has_entries 2 n1
cleared record-gap any
read_record
expect_equal "gaps in the record" "$(grep -c '^gap' "$T/content")" 1
expect_equal "chains" "$(record .chains)" 2
has_line ' behind$' "$T/content" || fail "nothing is recorded behind the gap"
base=$(entries n1 | jq -s 'map(.revision) | max')
[[ $base -ge $compacted ]] || fail "the snapshot is of revision $base, the chain begins behind $compacted"

say "a deletion that is too large to be watched is lost, alone, and that is stated"
# A deletion is as large as its keys: 66 of 1 MiB. What comes before the padding has a length that
# leaves base64 whole.
ask_n1() { # PATH BODY-FILE...
	local file
	for file in "${@:2}"; do
		printf '%s\n' next "url = https://$(mgmt_ip n1):2379/v3/kv/$1" "data = @$file" fail \
			"cacert = $PKI/etcd-trust.crt" "cert = $PKI/client-admin.crt" "key = $PKI/client-admin.key" \
			"output = $T/answer" "max-time = 60"
	done | sed 1d >"$T/requests"
	inside sw curl --silent --show-error --fail-early --config "$T/requests"
}
head -c $((1 << 20)) /dev/zero | tr '\0' k | base64 -w 0 >"$T/padding"
for ((i = 10; i < 76; i++)); do
	{
		printf '{"value":"eA==","key":"%s' "$(printf 'huge/%d..' "$i" | base64)"
		cat "$T/padding"
		printf '"}'
	} >"$T/huge-$i"
done
ask_n1 put "$T"/huge-* || fail "they cannot be put"
rm "$T"/huge-*
wait_until 60 record_has "$(revision)"
gaps=$(record .gaps)
echo '{"key":"'"$(printf huge/ | base64)"'","range_end":"'"$(printf huge0 | base64)"'"}' >"$T/delete"
ask_n1 deleterange "$T/delete" || fail "they cannot be deleted"
deleted=$(revision)
wait_until 60 record_is .gaps $((gaps + 1))
wait_until 30 etcd_ctl put behind y
wait_until 30 record_has "$(revision)"
expect_equal "the gap" "$(record '.last_gap | "\(.first_revision) \(.last_revision)"')" "$deleted $deleted"
