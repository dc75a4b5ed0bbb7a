#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# etcd's quota is reached: under the alarm NOSPACE it refuses puts and leases. The owner's confirmations
# go on in another form, so the address stays where it is, over a restart of its vipd as well; a vipd
# that starts anew takes no part, and each says what is refused and what to do. No standby can take the
# address of an owner that dies meanwhile; one does when the alarm is gone. A living owner keeps it.
. "$(dirname "$0")/lib.sh"

ETCD_OPTIONS=(--quota-backend-bytes 2097152)

# Until etcd refuses it.
fill_up() {
	local i
	head -c 90000 /dev/urandom | base64 -w 0 >"$T/big"
	for ((i = 0; i < 60; i++)); do
		etcd_ctl put "big/$i" <"$T/big" >/dev/null || break
	done
	wait_until 5 alarm_stands
}

alarm_stands() {
	[[ $(etcd_ctl alarm list) == *NOSPACE* ]]
}

make_room() {
	local revision node
	etcd_ctl del --prefix big/ >/dev/null
	revision=$(ETCD_AT=n1 etcd_ctl endpoint status --write-out json | jq '.[0].Status.header.revision')
	etcd_ctl compact "$revision" >/dev/null
	for node in "${NODES[@]}"; do
		ETCD_AT=$node etcd_ctl defrag >/dev/null
	done
	etcd_ctl alarm disarm >/dev/null
}

says_what_to_do() { # NODE
	[[ $(status "$1" '.warnings[]') == *"etcd refuses writes"*"fairlead etcd recover-space"* ]]
}

takes_no_part() { # NODE
	[[ $(status "$1" '.warnings[]') == *"takes no part: etcd refuses writes"* ]]
}

says_nothing() { # NODE
	[[ -z $(status "$1" '.warnings[]') ]]
}

cluster_with_owner
say "etcd's quota is reached"
fill_up
for_seconds 6 settled_on "$OWNER"
for node in "${NODES[@]}"; do
	wait_until 5 says_what_to_do "$node"
done

say "the owner's vipd restarts"
signal USR2 "vipd-$OWNER"
wait_exit 5 "vipd-$OWNER"
vipd_start "$OWNER"
for_seconds 4 held_by "$OWNER"
wait_until 5 settled_on "$OWNER"

LATE=$(node_other_than "$OWNER")
say "the vipd of $LATE stops and starts: it gets no lease"
signal TERM "vipd-$LATE"
wait_exit 10 "vipd-$LATE"
vipd_start "$LATE"
wait_until 5 takes_no_part "$LATE"
wait_until 5 status_is "$LATE" .owner "$OWNER"
says_what_to_do "$LATE" || fail "$LATE does not say what to do"

say "there is room again, and the alarm is gone"
make_room
wait_until 10 settled_on "$OWNER"
for_seconds 4 settled_on "$OWNER"
for node in "${NODES[@]}"; do
	wait_until 5 says_nothing "$node"
done
wire_check --max-owners 1 --expect-moves 0

say "the quota is reached again, and $OWNER dies"
fill_up
for_seconds 3 held_by "$OWNER"
kill_hard "vipd-$OWNER"
wait_until 6 held_by
for_seconds 5 held_by
say "the alarm is gone"
make_room
wait_until 15 settled_on_other_than "$OWNER"
wire_check --max-overlap-ms 0
