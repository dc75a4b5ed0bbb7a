#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# waits: for rounds of the watchdog, and for disks that are held back
# What n1's watchdog tells from the past: a database that grows towards its quota, a member whose disk
# is slow, very slow, and so slow that it falls behind (strace holds its fdatasync back), and writes that
# fail for want of a quorum. Sizes, latencies and failures are real; the minutes between two looks are
# not: the clocks of etcdwatch, and of nobody else, are moved ahead (libfaketime).
. "$(dirname "$0")/lib-etcdwatch.sh"
use findings

EW_SCHEDULE="0 0 1 1 *"
EW_MORE="---
apiVersion: fairlead/v1
kind: EtcdWatchConfig
interval: 1s
rules:"
for rule in quota-runway fsync-slow fsync-very-slow commit-slow applied-lag proposals-fail; do
	EW_MORE+="
  - {id: $rule, after: 0s, hold: 0s}"
done
# That its own clock is ahead is not the point.
EW_MORE+="
  - {id: clock-skew, off: true}"
ETCD_OPTIONS=(--quota-backend-bytes "$((96 << 20))")

library=$(find /usr/lib -name libfaketimeMT.so.1 -print -quit)
[[ -n $library ]] || fail "libfaketime is not installed (make deps)"
EW_ENV=(LD_PRELOAD="$library" FAKETIME_TIMESTAMP_FILE=/run/story/clock FAKETIME_CACHE_DURATION=1)
ahead=0
clock_set() { # SECONDS that etcdwatch is ahead
	echo "+$1" >"$T/clock.new"
	mv "$T/clock.new" "$T/clock"
}
all_answer() {
	[[ $(health '.[0].answer') == 3 ]]
}
round_done() { # NUMBER
	[[ $(health '.[0].rounds') -ge $1 ]]
}
# When it comes back a whole round was made at the new time.
clock_add() { # SECONDS
	local round
	round=$(health '.[0].rounds') || [[ -n $round ]] # a finding is an exit code too
	ahead=$((ahead + $1))
	clock_set "$ahead"
	wait_until 20 round_done $((round + 3))
}

# Each becomes a commit of its own.
writes() { # COUNT
	local i
	for ((i = 0; i < $1; i++)); do
		ETCD_AT=n1 etcd_ctl put slow "$i" >/dev/null
		nap 0.12
	done
}

ask() { # NODE ARGUMENT... PATH
	local base
	base=https://$(mgmt_ip "$1"):2379
	inside sw curl -sS --max-time 5 --cacert "$PKI/etcd-trust.crt" --cert "$PKI/client-admin.crt" \
		--key "$PKI/client-admin.key" "${@:2:$#-2}" "$base${*: -1}"
}
# How many of n3's have taken longer than that, which is the bound of a bucket.
n_longer() { # fsync|commit SECONDS
	local name=etcd_disk_wal_fsync
	[[ $1 == fsync ]] || name=etcd_disk_backend_commit
	ask n3 /metrics | awk -v name="${name}_duration_seconds_bucket" -v bound="$2" \
		'index($1, name "{le=\"" bound "\"}") == 1 { below = $2 } index($1, name "{le=\"+Inf\"}") == 1 { all = $2 }
		END { print all - below }'
}

# Each fdatasync of n3's member takes so much longer; with FILEs, of these.
disk_slow() { # MILLISECONDS [FILE...]
	local delay_us=$(($1 * 1000))
	shift
	spawn strace-n3 n3 strace -f -qq -o /dev/null -e trace=fdatasync \
		-e "inject=fdatasync:delay_enter=$delay_us" "${@/#/-P}" -p "${PID[etcd-n3]}"
	wait_until 20 is_traced
}
is_traced() {
	[[ $(awk '/^TracerPid:/ { print $2 }' "/proc/${PID[etcd-n3]}/status") -ne 0 ]]
}
disk_well() {
	signal INT strace-n3
	wait_exit 30 strace-n3
}

# Of twenty or more, one in a hundred counts: some are slow, and most are not.
slow_until() { # COUNT fsync|commit SECONDS
	local before
	before=$(n_longer "$2" "$3")
	until [[ $(n_longer "$2" "$3") -ge $((before + $1)) ]]; do
		writes 1
	done
}

cluster_of_etcd
clock_set 0
wait_until 30 etcd_move_leader n1
etcdwatch_start n1
wait_until 30 all_answer

begins "20 MB in half an hour, and 70 are left"
head -c 1400000 /dev/urandom >"$T/value"
for ((i = 0; i < 14; i++)); do
	ETCD_AT=n1 etcd_ctl put "fill/$i" <"$T/value" >/dev/null
done
clock_add 1801
found quota-runway n3

begins "n3's disk is slow: 0.6 s"
writes 25
fill_etcd 40
disk_slow 600
slow_until 1 commit 0.512
disk_well
clock_add 61
found fsync-slow n3
found commit-slow n3

# Of the log alone: while a commit of the database hangs, 3.4 answers nobody.
begins "its log hangs while the others write 3000 entries"
written=$(($(etcd_raft_index n1) + 3000))
disk_slow 120000 "$T"/etcd-n3/member/wal/*.wal
load_start n3 m
others_have_written() {
	[[ $(etcd_raft_index n1) -ge $written ]]
}
wait_until 30 others_have_written
kill_hard load-sw
found applied-lag n3
disk_well
cleared applied-lag n3

begins "and it is very slow: 1.2 s"
disk_slow 1200
slow_until 2 fsync 1.024
disk_well
clock_add 61
found fsync-very-slow n3

say "all is well, and another half an hour goes by"
clock_add 1801
writes 25
clock_add 61
for rule in quota-runway fsync-slow fsync-very-slow commit-slow; do cleared "$rule" any; done

# Whoever writes goes away after a second, which etcd then counts.
begins "two of three are killed, and 1500 writes fail"
for node in n1 n2; do kill_hard "etcd-$node"; done
writes_fail() {
	ask n3 -o /dev/null --max-time 1 --parallel --parallel-max 250 --data '{"key":"YQ==","value":"YQ=="}' \
		"/v3/kv/put?[1-500]" 2>>"$LOG_DIR/curl.log" || true
	[[ $(ask n3 /metrics | awk '$1 == "etcd_server_proposals_failed_total" { print $2 }') -ge 1500 ]]
}
wait_until 20 writes_fail
clock_add 61
found proposals-fail n3
for node in n1 n2; do etcd_start "$node"; done
wait_until 60 etcd_is_healthy
clock_add 301
clock_add 61
cleared proposals-fail n3
