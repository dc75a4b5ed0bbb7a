#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A target that is a program, here rclone before a WebDAV server: what is taken is stored there and read
# back, drilled and restored from there, and removed by retention. While the server is down the program's
# own words are the reason; when it is back, what was missed is made up for.
. "$(dirname "$0")/lib-etcdwatch.sh"

EW_SCHEDULE="0 0 1 1 *"
cluster_of_etcd
fill_etcd 20 10000
drill_programs
age-keygen -o "$T/one.key" 2>/dev/null
chmod 644 "$T/one.key"
install -d -o nobody "$T/dav" "$T/dav/cluster-a" "$T/home"
RCLONE=$(command -v rclone) || fail "rclone is not installed"
REMOTE=":webdav,url='http://10.87.0.1:9003':{key}"
EW_PACKING="compression: {algorithm: zstd, level: 3}
encryption: {recipients: [$(age-keygen -y "$T/one.key")]}"
EW_MORE="targets:
  - name: dav
    type: command
    prefix: cluster-a/
    command:
      upload: [$RCLONE, rcat, \"$REMOTE\"]
      download: [$RCLONE, cat, \"$REMOTE\"]
      list: [$RCLONE, lsf, --retries, '1', -R, --files-only, --format, sp, --include, '/{prefix}**', \"${REMOTE%\{key\}}\"]
      delete: [$RCLONE, deletefile, \"$REMOTE\"]
    retention: {last: 1}
drill: {schedule: '@yearly', source: dav, identityFile: $T/one.key, $DRILL_PROGRAMS, timeout: 60s}"
EW_ENV=("HOME=$T/home")

dav_up() {
	spawn dav sw env HOME="$T/home" "$RCLONE" serve webdav --addr 10.87.0.1:9003 "$T/dav"
	wait_until 10 log_says dav 'WebDav Server started'
}

stored() { # PATTERN: how many files are there
	find "$T/dav" -type f -name "$1" | wc -l
}

say "the server is down: the reason is the program's"
etcdwatch_start n1
wait_until 30 has_entries 1 n1
wait_until 60 log_says etcdwatch-n1 'event=target_failed .*connection refused'
target n1 dav .error | has_line 'rclone failed: .*connection refused' || fail "$(target n1 dav .error)"

say "it is back: what was missed is stored, the entry behind it"
dav_up
wait_until 60 target_is n1 dav .stored 1
expect_equal "entries there" "$(stored '2*.json')" 1
file=$(entries n1 | jq -r .file)
cmp "$(etcdwatch_directory n1)/$file" "$T/dav/cluster-a/"*"/$file" || fail "another file is there"
expect_equal "copies that its entry records" "$(entries n1 | jq -r '[.copies[].target] | join(" ")')" dav

say "it is drilled from there"
wait_until 60 log_says etcdwatch-n1 'event=drill_passed '
log_says etcdwatch-n1 'event=drill_begins .* source=dav' || fail "the log does not say from where"
expect "scratch files" nothing_is_left

say "it is what a restore finds there, by the configuration alone"
install -d -m 700 "$T/new"
# It is only planned: etcd runs here.
inside n1 env PATH="$T/bin:$PATH" "$FAIRLEAD" etcd restore --config "$T/etcdwatch-n1.yaml" \
	--data-dir "$T/new/etcd" --tool "$T/bin/restore-tool" s3:dav/latest >"$T/plan" 2>&1 || true
has_line "^snapshot .*/$(entries n1 | jq -r .id)" <"$T/plan" || fail "the plan: $(cat "$T/plan")"
has_line '^proven .*it is what the catalogue says' <"$T/plan" || fail "the plan: $(cat "$T/plan")"

say "the next one is stored, and retention removes the first"
fairlead n1 etcd snapshot save >"$T/saved" 2>&1 || fail "no snapshot: $(cat "$T/saved")"
wait_until 60 target_is n1 dav .pruned 1
expect_equal "files there" "$(stored '2*')" 2
[[ ! -e $(echo "$T/dav/cluster-a/"*"/$file") ]] || fail "the first is still there"
fairlead n1 etcd snapshot list | has_line 'dav' || fail "the list does not say where"
