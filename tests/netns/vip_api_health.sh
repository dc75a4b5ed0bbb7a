#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The address belongs where an API server works. The owner's refuses, hangs, answers 500: it moves,
# without overlap; where it refuses, at once: the API server's end is seen, and not only probed for. 401
# means alive, which is not enough for one that starts while others are ready; where none tells whether it
# is ready, etcd of the same node decides. Flapping must not carry it around, and when no API server works,
# moving helps nobody.
# Longer than an API server takes to restart: where one has ended, it does not hold the VIP.
POLICY='holdDown: 4s'
# Four probes take longer than the half second that a refused connection may.
HEALTH_TIMES='interval: 200ms
  timeout: 500ms
  rise: 3
  fall: 4'
. "$(dirname "$0")/lib.sh"
use prism

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

# New TLS connections to the VIP, each asks for /readyz.
CLIENT_RATE=50

client_start() {
	rm -f "$LOG_DIR/client.log"
	spawn client cl "$TOOLS/apiclient" open --rate "$CLIENT_RATE" --to "$VIP:6443" --ca "$PKI/cluster-ca.crt" \
		--name kubernetes --path /readyz --timeout 1000
	nap 0.3
}

# For how long it was refused, in ms: an API server had ended, and the VIP was still there. What a busy machine
# is too slow to answer fails otherwise.
client_end() {
	signal TERM client
	wait_exit 10 client
	tail -n 1 "$LOG_DIR/client.log" | jq -er "select(.ok > 0) | .failures.refused * 1000 / $CLIENT_RATE | floor"
}

says_alive() { # NODE
	[[ $(status "$1" .health_reason) == "readyz 401: alive, readiness unknown, while another node is ready" ]]
}

# A prism that asks seldom.
prism_beside_vipd() { # NODE
	PRISM_AT=$1 PRISM_LOCAL=10.86.0.${NUMBER[$1]} PRISM_HEALTH="interval: 1m" prism_start "$1"
}

cluster_with_owner
wait_until 5 all_health_is good

for trouble in refuses hangs broken; do
	former=$(holders)
	for_seconds 2 settled_on "$former"
	say "the API server of $former: $trouble"
	sick=$STEP
	case $trouble in
	refuses)
		client_start
		api_stop "$former"
		;;
	hangs)
		prism_beside_vipd "$former"
		api_hang "$former"
		;;
	broken) api_answer "$former" broken ;;
	esac
	wait_until 8 settled_on_other_than "$former"
	if [[ $trouble == refuses ]]; then
		gap=$(client_end)
		echo "         clients of the VIP were refused for $gap ms"
		[[ $gap -le $(lateness_allow 500) ]] || fail "clients of the VIP were refused for $gap ms"
		expect "a warning tells of the API server" log_says "vipd-$former" "^<4>event=health vip=$VIP state=bad"
		expect "and of the move" log_says "vipd-$former" '^<4>event=vip_state .*old=owner new=yielding reason="unhealthy"'
		expect "also where it comes" log_says "vipd-$(holders)" '^<4>event=vip_state .*new=owner reason="unhealthy"'
	fi
	wire_check --from "$sick" --max-overlap-ms 0 --max-gap-ms 100 --expect-moves 1
	wait_until 2 health_is "$former" bad
	[[ -n $(status "$former" .health_reason) ]] || fail "no reason is given"
	case $trouble in
	refuses) api_start "$former" ;;
	hangs)
		wait_until 5 log_says "prism-$former" \
			"upstream_suspected upstream=10.86.0.${NUMBER[$former]}:6443 "
		wait_until 5 log_says "prism-$former" "10.86.0.${NUMBER[$former]}:6443 old=[a-z]* new=hung"
		kill_hard "prism-$former"
		unset "PRISMS[$former]"
		api_resume "$former"
		;;
	broken) api_answer "$former" ok ;;
	esac
	wait_until 5 all_health_is good
done

say "the API servers are restarted, one after the other"
client_start
for _ in 1 2 3; do
	wait_until 5 settled
	former=$(holders)
	api_quit "$former"
	wait_exit 5 "api-$former"
	wait_until 8 settled_on_other_than "$former"
	api_start "$former"
	wait_until 5 all_health_is good
	# To the observer an owner that comes back within a second was never away.
	for_seconds 2 settled
done
gap=$(client_end)
echo "         clients of the VIP were refused for $gap ms in all"
[[ $gap -le $((3 * $(lateness_allow 500))) ]] || fail "clients of the VIP were refused for $gap ms"

other=$(node_other_than "$(holders)")
say "the API server of $other starts: it lives, while others are ready"
api_stop "$other"
wait_until 5 health_is "$other" bad
api_answer "$other" private
api_start "$other"
wait_until 5 says_alive "$other"
for_seconds 2 health_is "$other" bad
api_answer "$other" ok
wait_until 5 health_is "$other" good

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
prism_beside_vipd "$former"
wait_until 5 log_says "prism-$former" "10.86.0.${NUMBER[$former]}:6443 old=[a-z]* new=alive"
signal STOP "etcd-$former"
wait_until 10 settled_on_other_than "$former"
wait_until 5 log_says "prism-$former" \
	"10.86.0.${NUMBER[$former]}:6443 old=alive new=not_ready reason=\"readiness unknown"
wire_check --from "$STEP" --max-overlap-ms 0 --expect-moves 1
expect "the reason names etcd" grep -q etcd <<<"$(status "$former" .health_reason)"
signal CONT "etcd-$former"
wait_until 12 log_says "prism-$former" "10.86.0.${NUMBER[$former]}:6443 old=not_ready new=alive"
kill_hard "prism-$former"
unset "PRISMS[$former]"
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
