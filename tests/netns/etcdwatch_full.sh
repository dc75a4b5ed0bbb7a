#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The disk is full, before and in the middle of a snapshot, and is said to be; what is there stays, no
# half file is taken for a whole one, and with room again it goes on by itself. When the schedule's have
# been missed for too long that is a finding; the wall's clock of etcdwatch is moved for it (libfaketime).
. "$(dirname "$0")/lib-etcdwatch.sh"
use findings

# A file system of its own for the snapshots of n1.
small_disk() { # SIZE
	install -d -o nobody -m 700 "$(etcdwatch_directory n1)"
	mount -t tmpfs -o size="$1",mode=700,uid="$(id -u nobody)" tmpfs "$(etcdwatch_directory n1)"
}

EW_SCHEDULE="0 0 1 1 *"
cluster_of_etcd
fill_etcd 60 60000
small_disk 16m
dir=$(etcdwatch_directory n1)

say "there is room for one"
etcdwatch_start n1
wait_until 30 has_entries 1 n1
wait_until 10 job_is n1 .state idle
good=$(entries n1 | jq -r .id)

say "somebody fills the disk"
head -c 8M /dev/zero >"$dir/somebody" || true
fairlead n1 etcd snapshot save >"$T/said" 2>&1 && fail "there was no room"
grep -q "are free in" "$T/said" || fail "it did not say why: $(cat "$T/said")"
expect_equal "snapshots of n1" "$(entries n1 | jq -r .id)" "$good"
expect_equal "half files" "$(find "$dir" -name '.taking-*' | wc -l)" 0

say "the disk fills while it is being written"
rm "$dir/somebody"
slow_member n1
fairlead n1 etcd snapshot save >"$T/said" 2>&1 &
asked=$!
wait_until 10 job_is n1 .state taking
wait_until 10 test -n "$(find "$dir" -name '.taking-*')"
head -c 16M /dev/zero >"$dir/somebody" 2>/dev/null || true
! wait "$asked" || fail "there was no room"
expect_equal "half files" "$(find "$dir" -name '.taking-*' | wc -l)" 0
expect_equal "snapshots of n1" "$(entries n1 | jq -r .id)" "$good"
entries_are_sound n1

say "there is room again"
rm "$dir/somebody"
inside n1 tc qdisc delete dev lo root
wait_until 30 job_is n1 .state idle
fairlead n1 etcd snapshot save >/dev/null
expect_equal "snapshots of n1" "$(n_entries n1)" 2
entries_are_sound n1

say "nor is there any for those of the schedule"
signal TERM etcdwatch-n1
wait_exit 20 etcdwatch-n1
head -c 16M /dev/zero >"$dir/somebody" 2>/dev/null || true
library=$(find /usr/lib -name libfaketimeMT.so.1 -print -quit)
[[ -n $library ]] || fail "libfaketime is not installed (make deps)"
EW_ENV=(LD_PRELOAD="$library" FAKETIME_TIMESTAMP_FILE=/run/story/clock FAKETIME_CACHE_DURATION=1
	DONT_FAKE_MONOTONIC=1)
echo +0 >"$T/clock"
EW_SCHEDULE="* * * * *"
EW_MORE="---
apiVersion: fairlead/v1
kind: EtcdWatchConfig
interval: 1s
rules: [{id: snapshot-overdue, hold: 0s}]"
etcdwatch_start n1
wait_until 30 job_is n1 .state retrying
begins "for longer than a quarter of an hour"
echo +1100 >"$T/clock.new"
mv "$T/clock.new" "$T/clock"
found snapshot-overdue minutely
# A database is as large as its commits have made it, and there are two snapshots of it already.
mount -o remount,size=32m "$dir"
rm "$dir/somebody"
wait_until 60 fairlead n1 etcd snapshot save >/dev/null # it may just be at the period's own
cleared snapshot-overdue minutely
