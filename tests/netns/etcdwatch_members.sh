#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
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
all_agree() {
	fairlead n1 etcd members >"$T/members"
	grep -q "^n1,n2,n3 " "$T/members"
}
wait_until 20 all_agree
expect_equal "rows for people" "$(wc -l <"$T/members")" 4
expect_equal "leader" "$(status n2 .leader)" "$(status n1 .member)"
expect_equal "version" "$(status n2 .version)" "$(ETCD_AT=n2 etcd_ctl endpoint status --write-out json | jq -r ".[0].Status.version")"
expect_equal "yaml" "$(fairlead n1 -o yaml etcd status | grep -c '^node: "n[123]"$')" 3

say "one hangs"
signal STOP etcd-n3
wait_until 20 status_is n3 '.error != null' true
wait_until 20 status_is n2 .serves true
two_agree() {
	fairlead n1 etcd status >"$T/status"
	fairlead n1 etcd members >"$T/members"
	grep -q '^n3 .*no answer within' "$T/status" && grep -q '^n1,n2 ' "$T/members" && grep -q '^n3  *- ' "$T/members"
}
wait_until 20 two_agree
expect_equal "alarms" "$(fairlead n1 -o json etcd alarms)" ""

say "nobody is removed who is needed"
wait_until 30 is_refused 'n2 must not go: of the 2 voters that stay, 1 answers, and it takes 2' n1 --yes etcd remove-member n2
wait_until 30 is_refused 'n1 must not go' n1 --yes etcd leave
wait_until 30 is_refused 'it takes --yes' n1 etcd remove-member n3
fairlead n1 etcd remove-member --dry-run n3 >"$T/said" </dev/null
grep -q '^would: remove n3 ' "$T/said" || fail "the dry run did not say it: $(cat "$T/said")"
expect_equal "members" "$(members_by_etcdctl | wc -l)" 3

say "the leadership goes from n1 to n2"
ETCD_AT="n1 n2" etcd_move_leader n1
wait_until 30 is_done n1 etcd forfeit-leadership
grep -q '^done:  hand the leadership from n1 to n2 ' "$T/done" || fail "it said: $(cat "$T/done")"
ETCD_AT="n1 n2" wait_until 10 etcd_leader_is n2
wait_until 30 is_done n1 etcd forfeit-leadership
grep -q 'n2 leads already' "$T/done" || fail "it said: $(cat "$T/done")"

say "one node at a time"
ETCD_AT=n1 etcd_ctl put fairlead/v1/etcdwatch/.cluster/claim/0 '{"node":"n9"}' >/dev/null
wait_until 30 is_refused "'n9' is changing the cluster" n1 --yes etcd remove-member n3
ETCD_AT=n1 etcd_ctl del fairlead/v1/etcdwatch/.cluster/claim/0 >/dev/null

# Until the others have noticed that it is silent, etcd itself refuses.
say "the one that hangs goes"
wait_until 30 is_done n1 etcd remove-member n3
grep -q '^done:  remove n3 ' "$T/done" || fail "it said: $(cat "$T/done")"
expect_equal "members" "$(members_by_etcdctl | awk '{ print $2 }' | xargs)" "n1 n2"
expect_equal "locks left" "$(ETCD_AT=n1 etcd_ctl get --prefix --keys-only fairlead/v1/etcdwatch/.cluster/ | grep -c claim)" 0

say "n2 leaves: the leadership first"
etcdwatch_start n2
wait_until 20 fairlead n2 etcd snapshot jobs
wait_until 30 is_done n2 etcd leave
grep -q '^done:  hand the leadership from n2 to n1 ' "$T/done" || fail "it said: $(cat "$T/done")"
expect_equal "members" "$(members_by_etcdctl | awk '{ print $2 }' | xargs)" "n1"
ETCD_AT=n1 etcd_ctl put alone yes >/dev/null || fail "n1 does not serve"
wait_until 30 is_refused 'only voter' n1 --yes etcd leave
