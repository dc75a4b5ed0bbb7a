#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One bit of one member's database changes on its disk while it is stopped. It starts and serves as if
# nothing were; the watchdog compares the members' data, says whose differ, and no snapshot is deleted
# until they are the same again. Nobody writes, so that all is compacted away that they could be
# compared at; and they are compared all the same. etcd's own check finds it, too, and its alarm is a
# finding, and cleared again; while it stands nobody can be elected, and each node takes a snapshot of its own member.
. "$(dirname "$0")/lib-etcdwatch.sh"
use findings

EW_SCHEDULE="0 0 1 1 *"
EW_MORE="---
apiVersion: fairlead/v1
kind: EtcdWatchConfig
interval: 1s
compareEvery: 1s
rules:
  - {id: corrupt, hold: 0s}
  - {id: disk-low, off: true}
  - {id: disk-very-low, off: true}"

n_same() {
	fairlead n1 metrics etcdwatch | sed -n 's/^fairlead_etcdwatch_comparisons_total{result="same"} //p'
}

compared_twice_since() { # COUNT
	[[ $(n_same) -ge $(($1 + 2)) ]]
}

flip() { # FROM TO: while n3's member is stopped
	signal TERM etcd-n3
	wait_exit 20 etcd-n3
	expect "the value should be in the database" grep -q "$1" "$T/etcd-n3/member/snap/db"
	sed -i "s/$1/$2/g" "$T/etcd-n3/member/snap/db"
	etcd_start n3
}

frozen() {
	fairlead n1 -o json etcd snapshot prune --dry-run | jq -r 'select(.frozen) | .frozen'
}

frozen_is() { # PATTERN
	[[ $(frozen) == $1 ]]
}

# etcd's own check, which is the leader's to make.
n1_checks() { # OPTION...
	local ETCD_OPTIONS=("$@")
	signal TERM etcd-n1
	wait_exit 20 etcd-n1
	etcd_start n1
	etcd_move_leader n1
}

cluster_of_etcd
etcd_ctl put precious "a-value-that-is-nowhere-else" >/dev/null
etcdwatch_start n1
wait_until 30 has_entries 1 n1
wait_until 30 job_is n1 .state idle

say "all hold the same, also where everything is compacted away"
revision=$(etcd_ctl get precious --write-out json | jq .header.revision)
ETCD_AT=n1 etcd_ctl compact --physical "$revision" >/dev/null
wait_until 30 compared_twice_since "$(n_same)"
expect_equal "findings" "$(n_findings data-differs any)" 0
expect_equal "what is frozen" "$(frozen)" ""
# Those of 3.5 tell what they held when they compacted until then.
etcd_ctl put another value >/dev/null

begins "a bit flips on the disk of n3's member"
flip a-value-that-is-nowhere-else a-value-that-is-nowhere-elsd
found data-differs n3
expect_equal "findings" "$(n_findings data-differs any)" 1
wait_until 10 frozen_is '*different data*'

begins "etcd finds it too, and raises the alarm"
n1_checks --experimental-corrupt-check-time 1s
found corrupt "" # whose data are wrong it does not say
expect_equal "what a member that does not differ serves" "$(ETCD_AT=n1 etcd_ctl get precious --print-value-only)" a-value-that-is-nowhere-else
expect_equal "and the one that does" "$(ETCD_AT=n3 etcd_ctl get precious --print-value-only)" \
	a-value-that-is-nowhere-elsd
! etcd_ctl put another value >/dev/null || fail "a write was taken"
EW_SCHEDULE="0 0 1 2 *" # a period that n1 has not done
etcdwatch_start n2 n3
wait_until 60 has_entries 1 n2
expect "nobody should have been elected" log_says etcdwatch-n2 'event=period_not_claimed '
expect_equal "the member" "$(entries n2 | jq -r .member.name)" n2
say "of the one that differs it is put aside"
wait_until 60 job_is n3 .set_aside 1
expect_equal "snapshots of n3" "$(n_entries n3)" 0
for node in n2 n3; do
	signal TERM "etcdwatch-$node"
	wait_exit 20 "etcdwatch-$node"
done
n1_checks
wait_until 60 is_done n1 etcd alarm disarm --corrupt-too
cleared corrupt ""
frozen_is '*different data*' || fail "it should be frozen still"

begins "the bit flips back"
flip a-value-that-is-nowhere-elsd a-value-that-is-nowhere-else
cleared data-differs n3
wait_until 10 frozen_is ""
