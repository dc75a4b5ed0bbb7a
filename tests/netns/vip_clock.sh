#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The wall clock of every vipd jumps ahead, by more than the machine is up, then to an hour ago, also while
# etcd is away. Nothing depends on it.
# The clock is moved for these processes alone (libfaketime); what never jumps, does not: the
# monotonic clocks. Certificates are two hours old, so that they stay valid.
. "$(dirname "$0")/lib.sh"

clock_set() { # OFFSET_SECONDS
	echo "$1" >"$T/clock.new"
	mv "$T/clock.new" "$T/clock"
}

clock_preload
# By more than the machine is up: no moment of a monotonic clock was before it was started.
leap=$(($(cut -d. -f1 /proc/uptime) + 3600))
PKI_CLOCK=-2h
PKI_DAYS=$((leap / 86400 + 2))
VIPD_ENV=(LD_PRELOAD="$CLOCK_PRELOAD" FAKETIME_TIMESTAMP_FILE=/run/story/clock FAKETIME_CACHE_DURATION=1
	DONT_FAKE_MONOTONIC=1)
clock_set +0
cluster_with_owner

for offset in +$leap -3600; do
	say "the clocks go to $offset s"
	clock_set "$offset"
	for_seconds 8 settled_on "$OWNER"
	wire_check --from "$STEP" --max-owners 1 --expect-moves 0 --max-gap-ms 100

	say "a move while the clocks are at $offset s"
	former=$OWNER
	began=$(date +%s)
	fairlead "$former" vip move "$VIP"
	wait_until 3 settled_on_other_than "$former"
	OWNER=$(holders)
	wire_check --from "$STEP" --max-overlap-ms 0 --max-gap-ms 100 --expect-moves 1
	# The proof that the clock of these processes is another one.
	moved=$(date -d "$(status "$OWNER" .last_move.time)" +%s)
	skew=$((moved - began - offset))
	[[ ${skew#-} -le 10 ]] || fail "vipd's clock was not moved: off by $skew s"
	for_seconds 2 settled_on "$OWNER"
done

say "no member of etcd answers; meanwhile the clocks go ahead again, and back"
kill_hard "${NODES[@]/#/etcd-}"
clock_set +$leap
for_seconds 5 true
clock_set -3600
for_seconds 2 true
say "etcd is back"
for node in "${NODES[@]}"; do
	etcd_start "$node"
done
wait_until 30 etcd_is_healthy
wait_until 40 settled
