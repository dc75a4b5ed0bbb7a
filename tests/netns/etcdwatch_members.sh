#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# limit: 90
# What `etcd members`, `etcd status` and `etcd alarms` show is what etcd's own tool shows, also with a
# member that hangs: it delays nothing, and is a row that says so. Then the leadership moves, and the
# member that hangs is removed: not one that would cost the majority, not without a word, not while
# another node is at it, and never by a dry run.
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
expect_equal "alarms" "$(fairlead n1 -o json etcd alarms)" ""

say "nobody is removed who is needed"
! fairlead n1 --yes etcd remove-member n2 >"$T/said" 2>&1 || fail "n2 was removed"
grep -q 'n2 must not go: of the 2 voters that stay, 1 answers, and it takes 2' "$T/said" ||
	fail "it did not say why: $(cat "$T/said")"
! fairlead n1 --yes etcd leave >"$T/said" 2>&1 || fail "n1 has left"
! fairlead n1 etcd remove-member n3 >"$T/said" 2>&1 </dev/null || fail "n3 was removed without a word"
grep -q -- --yes "$T/said" || fail "it did not say what it takes: $(cat "$T/said")"
fairlead n1 etcd remove-member --dry-run n3 >"$T/said" </dev/null
grep -q '^would: remove n3 ' "$T/said" || fail "the dry run did not say it: $(cat "$T/said")"
expect_equal "members" "$(members_by_etcdctl | wc -l)" 3

say "the leadership goes from n1 to n2"
fairlead n1 --yes etcd forfeit-leadership >"$T/said" 2>&1 || fail "it stays: $(cat "$T/said")"
grep -q '^done:  hand the leadership from n1 to n2 ' "$T/said" || fail "it said: $(cat "$T/said")"
ETCD_AT="n1 n2" wait_until 10 etcd_leader_is n2
fairlead n1 --yes etcd forfeit-leadership >"$T/said"
grep -q 'n2 leads already' "$T/said" || fail "it said: $(cat "$T/said")"

say "one node at a time"
ETCD_AT=n1 etcd_ctl put fairlead/v1/etcdwatch/.cluster/claim/0 '{"node":"n9"}' >/dev/null
! fairlead n1 --yes etcd remove-member n3 >"$T/said" 2>&1 || fail "the lock did not hold"
grep -q "'n9' is changing the cluster" "$T/said" || fail "it said: $(cat "$T/said")"
ETCD_AT=n1 etcd_ctl del fairlead/v1/etcdwatch/.cluster/claim/0 >/dev/null

# Until the others have noticed that it is silent, etcd itself refuses.
removed() {
	fairlead n1 --yes etcd remove-member n3 >"$T/said" 2>&1
}

say "the one that hangs goes"
wait_until 30 removed
grep -q '^done:  remove n3 ' "$T/said" || fail "it said: $(cat "$T/said")"
expect_equal "members" "$(members_by_etcdctl | awk '{ print $2 }' | xargs)" "n1 n2"
expect_equal "locks left" "$(ETCD_AT=n1 etcd_ctl get --prefix --keys-only fairlead/v1/etcdwatch/.cluster/ | grep -c claim)" 0

say "n2 leaves: the leadership first"
etcdwatch_start n2
wait_until 20 fairlead n2 etcd snapshot jobs
left() {
	fairlead n2 --yes etcd leave >>"$T/left" 2>&1
}
wait_until 30 left
grep -q '^done:  hand the leadership from n2 to n1 ' "$T/left" || fail "it said: $(cat "$T/left")"
expect_equal "members" "$(members_by_etcdctl | awk '{ print $2 }' | xargs)" "n1"
ETCD_AT=n1 etcd_ctl put alone yes >/dev/null || fail "n1 does not serve"
! fairlead n1 --yes etcd leave >"$T/said" 2>&1 || fail "the last one has left"
grep -q 'only voter' "$T/said" || fail "it said: $(cat "$T/said")"
