#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A VIP that is the node's own address is refused at --check, at the start and at a reload, with link and
# address, and the node stays reachable. One that another program adds later, on lo, is warned of. A VIP
# outside of its link's subnets, and a link that does not exist, are the first thing that is said.
. "$(dirname "$0")/lib.sh"

OWN="is this node's own address, on eth0 (10.86.0.11/24)"

check() { # NODE: into $T/checked
	code=0
	inside "$1" "$VIPD" --check --config "$T/vipd-$1.yaml" >"$T/checked" 2>&1 || code=$?
}

is_put() { # NODE
	status "$1" '.warnings[]' | has_line "another program has put the address on lo of this node"
}

is_not_put() {
	! is_put "$1"
}

first_matter() { # NODE
	fairlead "$1" -o json status | jq -r '.attention[0].what'
}

cluster_with_owner
check n1
[[ $code -eq 0 ]] && has_line '^ok: 1 VIP' <"$T/checked" || fail "$code: $(cat "$T/checked")"
! has_line '^note' <"$T/checked" || fail "notes: $(cat "$T/checked")"

say "a reload with the node's own address is refused"
cp "$T/vipd-n1.yaml" "$T/right.yaml"
sed -i "s/^name: $VIP/name: 10.86.0.11/" "$T/vipd-n1.yaml"
check n1
[[ $code -eq 1 ]] && grep -qF "$OWN" "$T/checked" || fail "--check: $code: $(cat "$T/checked")"
signal HUP vipd-n1
wait_until 5 log_says vipd-n1 'event=reload_refused'
log_says vipd-n1 'is this node.s own address, on eth0 .10.86.0.11/24.'
for_seconds 1 settled_on "$OWNER"

say "so is a start, and the node can still be reached"
kill_hard vipd-n1
(inside n1 timeout 5 "$VIPD" --config "$T/vipd-n1.yaml" --runtime-dir "$T/run-n1") >"$T/started" 2>&1 && fail "it started"
[[ $? -ne 124 ]] && grep -qF "$OWN" "$T/started" || fail "it says: $(cat "$T/started")"
inside cl ping -q -c 1 -W 2 10.86.0.11 >/dev/null || fail "n1 cannot be reached"
cp "$T/right.yaml" "$T/vipd-n1.yaml"
vipd_start n1
wait_until 15 settled
OWNER=$(holders)

say "another program puts the address on lo of a standby"
standby=$(node_other_than "$OWNER")
ip -n "$standby" address add "$VIP/32" dev lo
wait_until 3 is_put "$standby"
log_says "vipd-$standby" "event=vip_address_foreign vip=$VIP ifname=lo address=$VIP/32"
ip -n "$standby" address del "$VIP/32" dev lo
wait_until 3 is_not_put "$standby"

say "a VIP outside of the subnets of its link"
sed "s/^name: $VIP/name: 10.99.0.5/" "$T/right.yaml" >"$T/vipd-n1.yaml"
check n1
[[ $code -eq 0 ]] && grep -q '^note: .*: no subnet of eth0 contains 10.99.0.5 (10.86.0.11/24)$' "$T/checked" ||
	fail "--check: $code: $(cat "$T/checked")"

say "a link that does not exist, with an etcd that answers and one that does not"
sed "s/^link: eth0/link: eth9/" "$T/right.yaml" >"$T/vipd-n1.yaml"
check n1
[[ $code -eq 0 ]] && grep -q '^note: .*: link eth9 does not exist$' "$T/checked" ||
	fail "--check: $code: $(cat "$T/checked")"
signal HUP vipd-n1
wait_until 10 status_is n1 .link_problem "link eth9 does not exist"
expect_equal "what status says first" "$(first_matter n1)" "$VIP: link eth9 does not exist"
! fairlead n1 status | has_line "etcd has not answered" || fail "blames etcd: $(fairlead n1 status)"
