#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# vipd restarts on the owner, as for an upgrade, while a client is in the middle of a connection
# through the VIP. The address stays, the connection lives on. Also when it is killed and comes back
# before its window ends.
. "$(dirname "$0")/lib.sh"
# Under a sanitizer a restart takes as long as the usual window.
! sanitizers_are_on || POLICY='fenceWindow: 10s'

# A client that asks ten times a second on one connection, and writes down each new connection.
client_begins() {
	spawn client cl stdbuf -oL curl -s --rate 36000/h --max-time 30 -o /dev/null -w '%{num_connects}\n' \
		"http://$VIP:8080/[1-80]"
	wait_until 3 client_has_asked 5
}

client_has_asked() { # TIMES
	[[ $(wc -l <"$LOG_DIR/client.log") -ge $1 ]]
}

cluster_with_owner
epoch=$(status "$OWNER" .epoch)
for signal in USR2 KILL; do
	: >"$LOG_DIR/client.log"
	client_begins
	say "vipd on $OWNER leaves by SIG$signal and starts again"
	signal "$signal" "vipd-$OWNER"
	wait_exit 5 "vipd-$OWNER"
	[[ $signal == KILL ]] || expect_equal "exit code" "$EXIT_CODE" 0
	expect "the address stays" holds "$OWNER"
	vipd_start "$OWNER"
	wait_until 5 settled_on "$OWNER"
	wait_exit 20 client
	expect_equal "how the client ended" "$EXIT_CODE" 0
	expect_equal "connections that the client made" \
		"$(awk '{ n += $1 } END { print n }' "$LOG_DIR/client.log")" 1
	wire_check --from "$STEP" --expect-moves 0 --max-owners 1 --max-gap-ms 100
	expect_equal "epoch" "$(status "$OWNER" .epoch)" "$epoch"
done

say "vipd on $OWNER reloads"
signal HUP "vipd-$OWNER"
wait_until 5 log_says "vipd-$OWNER" 'event=reload'
wait_until 5 settled_on "$OWNER"
for_seconds 2 settled_on "$OWNER"
wire_check --from "$STEP" --expect-moves 0 --max-owners 1 --max-gap-ms 100
