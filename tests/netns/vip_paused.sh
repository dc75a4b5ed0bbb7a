#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The owner's vipd is stopped (SIGSTOP) for 1 and 3 s, and for longer than its lease lasts, and then goes on as
# if nothing had happened. The kernel ends its ownership in time without it; woken up, it must not bring
# the address back.
. "$(dirname "$0")/lib.sh"

cluster_with_owner
for seconds in ${FAIRLEAD_PAUSES:-1 3 16}; do
	former=$(holders)
	say "$former sleeps for $seconds s"
	asleep=$STEP
	vipd_pause "$former"
	mark_all "asleep for $seconds s" # until then it may have confirmed
	# A node that sleeps may hold the address until its window ends, but never beside another.
	for_seconds "$seconds" at_most_one_answers
	if [[ $((seconds * 1000)) -gt $((BOUND_MS * 2)) ]]; then
		settled_on_other_than "$former" || fail "nobody took over"
		OWNER=$(holders)
		last=$(wire_figure old_last_ms --from "asleep for $seconds s")
		[[ ${last%.*} -le $BOUND_MS ]] || fail "$former spoke for $last ms, bound $BOUND_MS ms"
	fi

	say "$former wakes up after $seconds s"
	vipd_resume "$former"
	wait_until 10 settled
	for_seconds 2 settled
	[[ $((seconds * 1000)) -le $((BOUND_MS * 2)) ]] || settled_on "$OWNER" || fail "it moved again"
	wire_check --from "$asleep" --max-overlap-ms "$OVERLAP_MS" --max-owners 2
	# What a short sleep led to is open: nothing, or one move.
	[[ $(wire_figure moves --from "$asleep") -le 1 ]] || fail "more than one move"
done
