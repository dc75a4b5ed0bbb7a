#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The owner's vipd is killed and nobody tidies up after it. The kernel silences the address when the
# window ends and takes it away soon after; only then does another node answer.
. "$(dirname "$0")/lib.sh"

cluster_with_owner
former=$OWNER
say "kill -9 of vipd on $former"
killed=$STEP
kill_hard "vipd-$former"
mark_all "it is dead" # until then it may have confirmed
wait_until 5 settled_on_other_than "$former"
OWNER=$(holders)
wait_until 2 client_reaches "$OWNER"
wire_check --from "$killed" --max-overlap-ms 0 --expect-moves 1 --max-gap-ms 4000

last=$(wire_figure old_last_ms --from "it is dead")
[[ ${last%.*} -le $BOUND_MS ]] || fail "$former spoke for $last ms after its death, bound $BOUND_MS ms"

say "vipd starts again on $former, which its other self may still be on record for"
vipd_start "$former"
wait_until 10 settled_on "$OWNER"
for_seconds 2 settled_on "$OWNER"

ungate() { # NODE [--yes]
	inside "$1" "$FAIRLEAD" --runtime-dir "$T/run-$1" vip ungate "${@:2}"
}

silent() {
	! client_reaches "$former"
}

has_gate() { # NODE
	inside "$1" nft list table inet fairlead-vip >/dev/null 2>&1
}

say "break glass: no vipd runs, the address is set by hand, and the gate silences it"
expect "refused while vipd runs" test "$(ungate "$OWNER" --yes 2>&1 | grep -c 'stop it first')" = 1
expect "its gate stands" has_gate "$OWNER"
kill_hard "${NODES[@]/#/vipd-}"
wait_until 5 held_by
ip -n "$former" address add "$VIP/32" dev eth0
for_seconds 2 silent

say "what 'vip ungate' gives up is said, and nothing is done without --yes"
ungate "$former" >"$T/ungate" && fail "it did without --yes"
expect "names the address" grep -qx "  $VIP" "$T/ungate"
expect "says what is given up" grep -q 'two nodes may answer' "$T/ungate"
for_seconds 1 silent

say "with --yes $former answers, and the address of the operator stays"
ungate "$former" --yes
wait_until 2 client_reaches "$former"
expect "no gate" test -z "$(inside "$former" nft list tables)"
ungate "$former" | grep -q 'There is no gate' || fail "the second time"
expect "and none was made" test -z "$(inside "$former" nft list tables)"
