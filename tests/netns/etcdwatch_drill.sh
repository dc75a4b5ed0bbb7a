#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Coming back is rehearsed: a real etcd is started on the newest snapshot, beside the one that is in
# production and on the same ports, where nobody can reach it and from where it reaches nobody. It must
# answer what the catalogue says. When the catalogue says otherwise, when etcd does not start, and when
# no drill has gone well for too long, that is said. A drill that is killed leaves no process, and
# nothing on the disk after the next start.
. "$(dirname "$0")/lib-etcdwatch.sh"
use findings

EW_SCHEDULE="0 0 1 1 *"
EW_TAKER=every-node
EW_PACKING="compression: {algorithm: zstd, level: 3}"

metric() { # NAME
	fairlead n1 metrics etcdwatch | awk -v name="fairlead_etcdwatch_drill_$1{job=\"minutely\"}" \
		'$1 == name { print $2 }'
}

cluster_of_etcd
fill_etcd 30 1000
for i in 3 9 12; do
	etcd_ctl del "fill/$i" >/dev/null
done
etcd_ctl compact 20 >/dev/null
etcd_ctl put --lease="$(etcd_ctl lease grant 3600 | awk '{ print $2 }')" leased value >/dev/null
drill_programs
EW_MORE="drill: {schedule: '@yearly', $DRILL_PROGRAMS, timeout: 60s}
---
apiVersion: fairlead/v1
kind: EtcdWatchConfig
interval: 1s
rules: [{id: drill-overdue, hold: 0s}]"

say "the first snapshot, and at once a drill of it"
etcdwatch_start n1
wait_until 30 has_entries 1 n1
wait_until 40 log_says etcdwatch-n1 'event=drill_passed '
id=$(entries n1 | jq -r .id)
expect_equal "drilled" "$(drill_field .last_good_id)" "$id"
expect_equal "checks that hold" "$(drill_field '.checks | map(select(.ok)) | length')" \
	"$(drill_field '.checks | length')"
for check in digest tree sha256 hash revision hashkv live_keys current_revision readable_keys restored_hashkv sample; do
	expect_equal "check $check" "$(drill_field ".checks[] | select(.check == \"$check\") | .ok")" true
done
expect_equal "keys that could be read" \
	"$(drill_field '.checks[] | select(.check == "readable_keys") | .found')" "$(entries n1 | jq .live_keys)"
expect_equal "phases" "$(drill_field '.phases | keys | join(" ")')" "compare prove restore start unpack"
expect_equal "alarm" "$(metric alarm) $(metric failed) $(metric overdue)" "0 0 0"
[[ $(metric last_success_timestamp_seconds) -gt 1700000000 ]] || fail "no time of success"
expect "scratch files" nothing_is_left

say "it was alone in a network of its own; production was not"
expect_equal "links that it saw" "$(cat "$T/seen/links")" lo
[[ ! -e $T/seen/reached ]] || fail "it reached somebody"
[[ $(cat "$T/seen/net") != "$(inside n1 readlink /proc/self/ns/net)" ]] || fail "the node's own network"
etcd_is_healthy || fail "production suffers"

say "by command"
drill_now
expect_equal "exit code" "$CODE" 0
grep -q '^readable_keys  *28  *28  *ok$' "$T/drill.out" || fail "no checks: $(cat "$T/drill.out")"
grep -q '^restore \.\.\.$' "$T/drill.err" || fail "no phases"
expect "scratch files" nothing_is_left

begins "a catalogue that says something else"
entry=$(etcdwatch_directory n1)/$id.json
cp "$entry" "$T/entry"
hash=$(jq .hash "$T/entry")
# Not signed: a signature would tell it first.
jq -c "del(.signature, .key) | .hash = $((hash ^ 1))" "$T/entry" >"$entry"
drill_now
expect_equal "exit code" "$CODE" 1
grep -q "hash is $hash in the snapshot, and $((hash ^ 1)) by the catalogue" "$T/drill.err" || fail "no reason"
expect_equal "alarm" "$(metric alarm) $(metric failed)" "1 1"
found drill-overdue minutely
fairlead n1 etcd snapshot jobs | has_line 'the last drill failed: hash is' || fail "the status is silent"
log_says etcdwatch-n1 'event=drill_failed .* error=DIFFERS ' || fail "the log is silent"
cp "$T/entry" "$entry"
expect "scratch files" nothing_is_left

say "an etcd that does not start"
echo fail >"$T/seen/how"
drill_now -o json
expect_equal "exit code" "$CODE" 1
grep -q 'etcd ended with code 7: panic: the pages are gone' "$T/drill.err" || fail "no last words"

say "an etcd that comes back with other data: each way of asking finds it"
echo other >"$T/seen/how"
drill_now
expect_equal "exit code" "$CODE" 1
for check in readable_keys restored_hashkv sample; do
	expect_equal "check $check" "$(drill_field ".checks[] | select(.check == \"$check\") | .ok")" false
done
grep -q 'readable_keys is [0-9]* in the restored etcd, and 28 by the snapshot' "$T/drill.err" || fail "no reason"

say "one that was compacted further: that is no difference"
jq -r .revision "$T/entry" >"$T/seen/revision"
echo compacted >"$T/seen/how"
drill_now
expect_equal "exit code" "$CODE" 0

say "one that goes well again takes the alarm back"
echo go >"$T/seen/how"
drill_now
expect_equal "exit code" "$CODE" 0
expect_equal "alarm" "$(metric alarm) $(metric failed)" "0 0"
cleared drill-overdue minutely

say "a drill that is killed, and so its etcd; the next start clears up behind it"
echo hang >"$T/seen/how"
rm "$T/seen/pid"
timeout 60 script -qec "'$FAIRLEAD' --runtime-dir '$T/run-n1' etcd drill" /dev/null >"$T/tty" </dev/null &
asker=$!
wait_until 30 test -s "$T/seen/pid"
# On a terminal there is a line that says for how long it has been at what.
wait_until 20 grep -qE $'\r\033\\[Kstart [0-9]+s' "$T/tty"
pid=$(cat "$T/seen/pid")
[[ -d $(cat "$T/seen/room") ]] || fail "it works elsewhere"
for words in "drill" "snapshot save"; do
	# shellcheck disable=SC2086
	fairlead n1 etcd $words 2>"$T/busy" && fail "etcd $words: two at once"
	grep -Eq 'under way already|at one already' "$T/busy" || fail "$words: $(cat "$T/busy")"
done
worker=$(pgrep -f -o 'etcdwatch-worker drill --catalog')
kill -KILL "$worker"
wait_until 20 eval "! kill -0 $pid 2>/dev/null"
wait "$asker" || true
wait_until 20 eval '! pgrep -f "etcdwatch-worker drill" >/dev/null'
wait_until 20 eval '! pgrep -f "sleep 1000" >/dev/null'
wait_until 20 eval '[[ $(metric failed) == 1 ]]'
[[ -d $(etcdwatch_directory n1)/drill ]] || fail "it was cleared already"
kill_hard etcdwatch-n1
etcdwatch_start n1
wait_until 10 nothing_is_left
expect_equal "it remembers" "$(drill_field .failed)" true

say "so when the daemon is killed, and when it is stopped"
for how in KILL TERM; do
	rm "$T/seen/pid"
	drill_now &
	asker=$!
	wait_until 30 test -s "$T/seen/pid"
	pid=$(cat "$T/seen/pid")
	signal "$how" etcdwatch-n1
	wait_exit 10 etcdwatch-n1
	wait_until 20 eval "! kill -0 $pid 2>/dev/null"
	wait_until 20 nothing_is_left
	wait_until 20 eval '! pgrep -f "sleep 1000" >/dev/null'
	wait "$asker"
	etcdwatch_start n1
	wait_until 10 job_is n1 .drill.state idle
done

say "none has gone well since long ago"
signal TERM etcdwatch-n1
wait_exit 10 etcdwatch-n1
state=$(etcdwatch_directory n1)/.drill-state
jq -c '.since = "2020-01-01T00:00:00Z" | .last = .since | .good = .since' "$state" >"$T/state"
cat "$T/state" >"$state"
etcdwatch_start n1
wait_until 10 job_is n1 .drill.overdue true
expect_equal "alarm" "$(metric alarm) $(metric overdue)" "1 1"
log_says etcdwatch-n1 'event=drill_overdue ' || fail "the log is silent"
echo go >"$T/seen/how"

say "a cluster with authentication: asked as root, without a password"
for words in 'user add root:secret' 'user add admin:secret' 'user grant-role root root' \
	'user grant-role admin root' 'auth enable'; do
	# shellcheck disable=SC2086
	etcd_ctl $words >/dev/null
done
ETCD_AT=n1 etcd_ctl snapshot save "$T/auth.db" >/dev/null
chmod 644 "$T/auth.db"
setpriv --reuid nobody --regid nogroup --clear-groups --inh-caps -all --bounding-set -all --no-new-privs \
	"$T/bin/etcdwatch-worker" drill "$T/auth.db" --directory "$T/seen/drill" --etcd "$T/bin/drill-etcd" \
	--etcdutl "$T/bin/restore-tool" | tail -n 1 >"$T/auth.out"
expect_equal "it went well" "$(jq .ok "$T/auth.out")" true
[[ $(jq '.checks[] | select(.check == "sample") | .found' "$T/auth.out") -ge 16 ]] || fail "no sample"
grep -q -- --auth-token= "$T/seen/words" || fail "authentication was off"

say "etcdwatch's user has no role there: that is said, and not that nothing answers"
refused() { # not as the job is at the drill that is overdue
	! fairlead n1 etcd snapshot save >"$T/said" 2>&1 && ! has_line "is at one already" <"$T/said"
}
wait_until 60 refused
grep -q "refuses this node's user (.*: give the user of EtcdClientConfig" "$T/said" || fail "not said: $(cat "$T/said")"
