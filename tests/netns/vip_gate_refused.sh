#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# On one node another program owns a table of the gate's name, so the kernel refuses the gate. That node
# takes no part and says why, also when it is the last one. When the other program ends, it takes part
# again by itself, with the whole fence. The same when the gate is taken from an owner, which other programs
# can do before kernel 6.9: it hands over, and takes part again when it has its gate.
. "$(dirname "$0")/lib.sh"

REFUSED=n3
TABLE=fairlead-vip

warns() { # TEXT
	status "$REFUSED" '.warnings[]' | has_line -F "$1"
}

says_why() {
	status_is "$REFUSED" .state down &&
		warns "takes no part: nftables refuses the gate: Operation not permitted" &&
		warns "the gate is tried again by itself"
}

is_owned() {
	inside "$REFUSED" nft list table inet "$TABLE" 2>/dev/null | grep -q "flags owner"
}

# In one transaction: vipd would make a table anew between two.
own_table() { # [COMMAND]: what comes first
	# shellcheck disable=SC2016
	spawn "owner-$REFUSED" "$REFUSED" bash -c \
		'exec nft -i < <(echo "$1 add table inet $0 { flags owner; }"; exec sleep infinity)' "$TABLE" "${1-}"
	wait_until 5 is_owned
}

takes_part() {
	status_is "$REFUSED" .state standby && ! warns "nftables refuses the gate"
}

cluster_watched
say "a program on $REFUSED owns a table $TABLE"
own_table

nft_is_old
say "vipd starts on all three: $REFUSED takes no part"
vipd_start "${NODES[@]}"
wait_until 15 says_why
wait_until 15 held_by_other_than "$REFUSED"

say "the other two are killed: nobody answers, as $REFUSED has no fence"
kill_hard vipd-n1 vipd-n2
wait_until 10 held_by
for_seconds 8 held_by
expect "the reason is still said" says_why

say "the other program ends: $REFUSED takes the address, behind the gate"
freed=$STEP
kill_hard "owner-$REFUSED"
wait_until 25 settled_on "$REFUSED"
status_is "$REFUSED" .fence nftables || fail "the fence is $(status "$REFUSED" .fence)"
inside "$REFUSED" nft list table inet "$TABLE" | has_line "$VIP" || fail "the gate does not guard $VIP"
wait_until 2 client_reaches "$REFUSED"
# Said once, and not each time that it was tried.
said=$(grep -c event=gate_unavailable "$LOG_DIR/vipd-$REFUSED.log")
expect_equal "how often it was said" "$said" 1

say "$REFUSED is the owner and the gate is taken from it: it hands over, says why, and stays out"
vipd_start n1
wait_until 15 status_is n1 .state standby
own_table "delete table inet $TABLE;"
wait_until 5 says_why
wait_until 10 held_by n1
for_seconds 5 held_by n1
expect "the reason is still said" says_why

say "that program ends: $REFUSED takes part again, behind its gate"
kill_hard "owner-$REFUSED"
wait_until 15 takes_part
inside "$REFUSED" nft list table inet "$TABLE" | has_line "$VIP" || fail "the gate does not guard $VIP"
expect "n1 keeps the address" settled_on n1
said=$(grep -c event=gate_unavailable "$LOG_DIR/vipd-$REFUSED.log")
expect_equal "how often it was said" "$said" 2
wire_check --max-overlap-ms 0
wire_check --from "$freed" --expect-moves 2
