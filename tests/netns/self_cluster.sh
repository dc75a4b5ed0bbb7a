#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The machines of the stories do what the stories take for granted: etcd elects, a cut cuts, in the
# direction named and nowhere else, a node without power is gone and comes back, the web server
# answers as it is told.
. "$(dirname "$0")/lib.sh"

readyz() { # NODE CODE
	[[ $(inside "$1" curl -s -o /dev/null -w '%{http_code}' --max-time 1 \
		--cacert "$PKI/cluster-ca.crt" --resolve kubernetes:6443:127.0.0.1 \
		https://kubernetes:6443/readyz) == "$2" ]]
}

cluster_up
observe
ip -n n1 address add "$VIP" dev eth0

say "etcd: $("$ETCD_BIN/etcd" --version | head -n 1)"
leader=$(etcd_leader)
other=$(node_other_than "$leader")
etcd_move_leader "$other"
expect_equal "leader" "$(etcd_leader)" "$other"

say "a member that cannot send, and one that cannot hear, is no healthy member; then all are"
victim=$(node_other_than "$other")
for direction in in out both; do
	mgmt_drop "$victim" "$direction"
	ETCD_AT=$victim expect "cut $direction" eval '! etcd_is_healthy'
	ETCD_AT=$other expect "the others are well" etcd_is_healthy
	inside cl ping -q -c 1 -W 1 "10.86.0.${NUMBER[$victim]}" >/dev/null || fail "the LAN is cut too"
	mgmt_pass "$victim"
	wait_until 15 etcd_is_healthy
done

say "answers of the API server"
for node in "${NODES[@]}"; do
	expect "$node is ready" readyz "$node" 200
done
api_answer n2 broken
expect "500" readyz n2 500
api_answer n2 private
expect "401" readyz n2 401
api_answer n2 ok
api_hang n2
expect "no answer" readyz n2 000
api_resume n2
wait_until 2 readyz n2 200
api_stop n2
expect "refused" readyz n2 000
api_start n2
wait_until 2 readyz n2 200
wait_until 2 client_reaches n1

say "n1 loses power"
power_off n1
expect "no namespace" test ! -e /run/netns/n1
expect "no process" gone etcd-n1
mark_all off
for_seconds 1 true
wire_settle
expect_equal "answers after that" \
	"$("$TOOLS/observer_check" --json --allow-silence --from off "$(wire_log)" | jq .answers)" 0

say "and gets it back"
power_on n1
etcd_start n1
api_start n1
wait_until 20 etcd_is_healthy
expect "the address did not survive" holds_not n1
