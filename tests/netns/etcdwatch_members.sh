#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What `etcd members`, `etcd status` and `etcd alarms` show is what etcd's own tool shows, also with a
# member that hangs: it delays nothing, and is a row that says so.
. "$(dirname "$0")/lib-etcdwatch.sh"

EW_SCHEDULE="0 0 1 1 *"

cluster_of_etcd
etcd_move_leader n1
fill_etcd 5
etcdwatch_start n1

members_by_etcdctl() {
	ETCD_AT=n1 etcd_ctl member list | awk -F ', ' '{ print $1, $3, $4, $5, $6 }' | sort
}

members_shown() {
	fairlead n1 -o json etcd members |
		jq -r 'select(.node == "n1").members[] | "\(.id) \(.hostname) \(.peer_urls | join(",")) \(.client_urls | join(",")) \(.learner)"' | sort
}

status() { # NODE FILTER
	fairlead n1 -o json etcd status | jq -r "select(.node == \"$1\") | $2"
}

status_is() { # NODE FILTER VALUE
	[[ $(status "$1" "$2") == "$3" ]]
}

say "all three, as etcdctl lists them"
wait_until 20 status_is n3 .serves true
expect_equal "members" "$(members_shown)" "$(members_by_etcdctl)"
expect_equal "rows for people" "$(fairlead n1 etcd members | wc -l)" 4
fairlead n1 etcd members >"$T/members"
grep -q "^n1,n2,n3 " "$T/members" || fail "they are not told to agree: $(cat "$T/members")"
expect_equal "leader" "$(status n2 .leader)" "$(status n1 .member)"
expect_equal "version" "$(status n2 .version)" "$(ETCD_AT=n2 etcd_ctl endpoint status --write-out json | jq -r ".[0].Status.version")"
expect_equal "yaml" "$(fairlead n1 -o yaml etcd status | grep -c '^node: "n[123]"$')" 3

say "one hangs"
signal STOP etcd-n3
wait_until 20 status_is n3 '.error != null' true
expect_equal "n2" "$(status n2 .serves)" true
fairlead n1 etcd status | grep -q '^n3 .*no answer within' || fail "it is not shown"
fairlead n1 etcd members >"$T/members"
grep -q '^n1,n2 ' "$T/members" || fail "the others are not shown"
grep -q '^n3  *- ' "$T/members" || fail "it has no row"
signal CONT etcd-n3
wait_until 20 status_is n3 .serves true
expect_equal "alarms" "$(fairlead n1 -o json etcd alarms)" ""
