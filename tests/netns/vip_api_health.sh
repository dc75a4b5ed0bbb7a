#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The address belongs where an API server works. The owner's refuses, hangs, answers 500: it moves,
# without overlap. 401 means alive; readiness is unknown then, and etcd of the same node decides. Flapping must not carry it around, and when no API server works,
# moving helps nobody.
POLICY='holdDown: 1s'
HEALTH_TIMES='interval: 300ms
  timeout: 300ms
  rise: 2
  fall: 2'
. "$(dirname "$0")/lib.sh"

health_is() { # NODE STATE
	status_is "$1" .health "$2"
}

all_health_is() { # STATE
	local node
	for node in "${NODES[@]}"; do
		health_is "$node" "$1" || return 1
	done
}

readiness_is() { # true or false: unknown
	local node
	for node in "${NODES[@]}"; do
		status_is "$node" .readiness_unknown "$1" || return 1
	done
}

cluster_with_owner
wait_until 5 all_health_is good

for trouble in refuses hangs broken; do
	former=$(holders)
	for_seconds 2 settled_on "$former"
	say "the API server of $former: $trouble"
	sick=$STEP
	case $trouble in
	refuses) api_stop "$former" ;;
	hangs) api_hang "$former" ;;
	broken) api_answer "$former" broken ;;
	esac
	wait_until 8 settled_on_other_than "$former"
	wire_check --from "$sick" --max-overlap-ms 0 --max-gap-ms 100 --expect-moves 1
	wait_until 2 health_is "$former" bad
	[[ -n $(status "$former" .health_reason) ]] || fail "no reason is given"
	case $trouble in
	refuses) api_start "$former" ;;
	hangs) api_resume "$former" ;;
	broken) api_answer "$former" ok ;;
	esac
	wait_until 5 all_health_is good
done

OWNER=$(holders)
for_seconds 2 settled_on "$OWNER"
say "the API servers answer 401"
for node in "${NODES[@]}"; do
	api_answer "$node" private
done
for_seconds 3 settled_on "$OWNER"
expect "401 is alive" health_is "$OWNER" good
wait_until 7 readiness_is true
expect "it is a warning" grep -q 'does not tell whether it is ready (readyz 401' \
	<<<"$(status "$OWNER" '.warnings[]')"

say "the etcd member of $OWNER hangs, and its API server answers 401 as before"
former=$OWNER
signal STOP "etcd-$former"
wait_until 10 settled_on_other_than "$former"
wire_check --from "$STEP" --max-overlap-ms 0 --expect-moves 1
expect "the reason names etcd" grep -q etcd <<<"$(status "$former" .health_reason)"
signal CONT "etcd-$former"
for node in "${NODES[@]}"; do
	api_answer "$node" ok
done
wait_until 7 readiness_is false
wait_until 5 all_health_is good

OWNER=$(holders)
for_seconds 2 settled_on "$OWNER"
say "the API server of $OWNER flaps"
flapping=$STEP
for _ in 1 2 3 4 5 6 7 8; do
	api_answer "$OWNER" broken
	for_seconds 1 at_most_one_answers
	api_answer "$OWNER" ok
	nap 0.4
done
wait_until 5 settled
moves=$(wire_figure moves --from "$flapping")
[[ $moves -le 1 ]] || fail "it moved $moves times"

wait_until 5 all_health_is good
OWNER=$(holders)
for_seconds 2 settled_on "$OWNER"
say "no API server works"
for node in "${NODES[@]}"; do
	api_answer "$node" broken
done
wait_until 5 all_health_is bad
OWNER=$(holders)
for_seconds 4 settled_on "$OWNER"
moves=$(wire_figure moves --from "$STEP")
[[ $moves -le 1 ]] || fail "it moved $moves times"
wire_check --from "$STEP" --max-gap-ms 100

say "one works again, and it goes there"
target=$(node_other_than "$OWNER")
api_answer "$target" ok
wait_until 8 settled_on "$target"
wire_check --from "$STEP" --max-overlap-ms 0 --max-gap-ms 100 --expect-moves 1
