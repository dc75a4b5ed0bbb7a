#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A drill of what a store in S3 has: fetched, decrypted, decompressed, taken out of its bundle, restored,
# started, compared. What the store lost, has damaged, or does not give, fails with the reason.
. "$(dirname "$0")/lib-etcdwatch.sh"

EW_SCHEDULE="0 0 1 1 *"
EW_TAKER=every-node
cluster_of_etcd
fill_etcd 20 10000
stores_up
drill_programs
age-keygen -o "$T/one.key" 2>/dev/null
chmod 644 "$T/one.key"
echo "a certificate" >"$T/extra.crt"
chmod 644 "$T/extra.crt"
EW_PACKING="compression: {algorithm: zstd, level: 3}
encryption: {recipients: [$(age-keygen -y "$T/one.key")]}
extraFiles: [$T/extra.crt]"
EW_MORE="$(store_targets site)
drill: {schedule: '@yearly', source: site, identityFile: $T/one.key, $DRILL_PROGRAMS, timeout: 60s}"

say "the first snapshot is taken and stored"
etcdwatch_start n1
wait_until 30 has_entries 1 n1
wait_until 60 target_is n1 site .stored 1
file=$(entries n1 | jq -r .file)
[[ $file == *.db.tar.zst.age || $file == *.age ]] || fail "it is called $file"
expect_equal "the database in the bundle" \
	"$(age -d -i "$T/one.key" "$(etcdwatch_directory n1)/$file" | zstd -dqc | tar t | sed -n 1p)" \
	"$(entries n1 | jq -r .id).db"

say "and drilled from there: once it is there, and by command"
wait_until 40 log_says etcdwatch-n1 'event=drill_passed '
drill_now
[[ $CODE -eq 0 ]] || fail "it failed: $(cat "$T/drill.err")"
expect_equal "first phases" "$(sed -n '/^fetch/,$p' "$T/drill.err" | head -n 2 | tr '\n' ' ')" \
	"fetch ... unpack ... "
# The keys and the id of the cluster.
grep -q '^readable_keys  *21  *21  *ok$' "$T/drill.out" || fail "no checks: $(cat "$T/drill.out")"
expect_equal "drilled" "$(drill_field .last_good_id)" "$(entries n1 | jq -r .id)"
log_says etcdwatch-n1 'event=drill_begins .* source=site' || fail "the log does not say from where"
expect "scratch files" nothing_is_left
[[ ! -e $T/seen/reached ]] || fail "its etcd reached somebody"

say "the local one is damaged: that does not matter"
printf x | dd of="$(etcdwatch_directory n1)/$file" bs=1 seek=300 conv=notrunc status=none
drill_now
expect_equal "exit code" "$CODE" 0

say "what is stored is damaged"
key=$(store_keys site | grep -v '\.json$')
mkdir -p "$T/damaged"
store site get "$key" "$T/damaged/file" >/dev/null
printf x | dd of="$T/damaged/file" bs=1 seek=300 conv=notrunc status=none
store site put "$T/damaged/file" "$key" >/dev/null
drill_now
expect_equal "exit code" "$CODE" 1
grep -q 'the SHA-256 of the object .* is .*, and should be ' "$T/drill.err" || fail "no reason: $(cat "$T/drill.err")"
expect_equal "alarm" "$(drill_field .alarm)" true

say "it is gone"
store_keys site | while read -r key; do store site rm "$key" >/dev/null; done
drill_now
expect_equal "exit code" "$CODE" 1
grep -q 'the target has no good snapshot of this cluster' "$T/drill.err" || fail "no reason"

say "the store is down"
kill_hard door-site
drill_now
expect_equal "exit code" "$CODE" 1
expect_equal "what it is called" "$(drill_field .last_id)" null
[[ -n $(drill_field .reason) ]] || fail "no reason"
expect "scratch files" nothing_is_left
