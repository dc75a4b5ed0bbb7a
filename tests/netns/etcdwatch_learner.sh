#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# n3's member is a learner, which since 3.5 etcd lets anybody take a snapshot from, however far behind it
# is. The etcdwatch that knows no other member takes none and says why; one that knows them takes theirs.
# One that has it for no endpoint sees all the same which certificate it presents and what its clock is;
# and what else its watchdog makes of members that come, change and go, and of a disk with little room.
. "$(dirname "$0")/lib-etcdwatch.sh"
use findings

member_id() { # NODE
	ETCD_AT=n1 etcd_ctl member list | awk -F ', ' -v name="$1" '$3 == name { print $1 }'
}

# Each of these may have to wait until the members are sure of each other.
removed() { # NODE
	local id
	id=$(member_id "$1") || return 1
	[[ -n $id ]] || return 0
	ETCD_AT=n1 etcd_ctl member remove "$id" >/dev/null
}

added() { # NODE
	ETCD_AT=n1 etcd_ctl member list | has_line "https://$(mgmt_ip "$1"):2380" ||
		ETCD_AT=n1 etcd_ctl member add "$1" --learner --peer-urls "https://$(mgmt_ip "$1"):2380" >/dev/null
}

has_data() { # NODE: what the leader has sent it
	[[ $(ETCD_AT=$1 etcd_ctl endpoint status --write-out json | jq '.[0].Status.header.revision') -gt 20 ]]
}

newest() { # FIELD: of n1's entries
	entries n1 | jq -rs "sort_by(.id) | last | $1"
}

cluster_of_etcd
fill_etcd 20
etcd_move_leader n1

say "n3's member becomes a learner"
wait_until 30 removed n3
wait_exit 20 etcd-n3
rm -rf "$T/etcd-n3"
wait_until 30 added n3
ETCD_OPTIONS=(--initial-cluster-state existing)
etcd_start n3
wait_until 30 has_data n3
expect_equal "n3 as etcd sees it" \
	"$(ETCD_AT=n1 etcd_ctl member list | awk -F ', ' '$3 == "n3" { print $6 }')" true

say "who knows it alone takes none, and says why"
EW_SCHEDULE="0 0 1 1 *"
EW_ENDPOINTS=n3
etcdwatch_start n3
wait_until 30 job_is n3 .state retrying
! fairlead n3 etcd snapshot save >"$T/said" 2>&1 || fail "it was taken"
grep -q "only a learner answers" "$T/said" || fail "it did not say why: $(cat "$T/said")"
fairlead n3 etcd snapshot jobs | has_line "learner" || fail "it is not shown"
expect_equal "snapshots" "$(n_entries n3)" 0
! log_says etcdwatch-n3 'event=snapshot_begins ' || fail "it tried"
signal TERM etcdwatch-n3
wait_exit 20 etcdwatch-n3

say "who knows the others takes theirs, and not its own"
EW_ENDPOINTS=
etcdwatch_start n3
wait_until 40 fairlead n3 etcd snapshot save # it may just be at the period's own
entries n3 | jq -r .member.name >"$T/members"
expect "there should be one" test -s "$T/members"
! grep -qx n3 "$T/members" || fail "it is the learner's"
entries_are_sound n3
expect_equal "the members as its entry has them" \
	"$(entries n3 | jq -r '.members | map("\(.name) \(.peer_urls[0]) \(.learner)") | sort | join(", ")')" \
	"n1 https://$(mgmt_ip n1):2380 false, n2 https://$(mgmt_ip n2):2380 false, n3 https://$(mgmt_ip n3):2380 true"

begins "n1, none of whose endpoints it is, sees the certificate that it presents"
clock_own DONT_FAKE_MONOTONIC=1
EW_ENDPOINTS="n1 n2"
EW_MORE="---
apiVersion: fairlead/v1
kind: EtcdWatchConfig
interval: 1s
members: [n1, n3]
dataDirectory: $T/disk
rules:"
for rule in certificate-expires-soon clock-skew even-members member-missing member-unexpected \
	disk-very-low; do
	EW_MORE+="
  - {id: $rule, after: 0s, hold: 0s}"
done
mkdir "$T/disk"
mount -t tmpfs -o size=1g,mode=755 tmpfs "$T/disk"
PKI_DAYS=5 pki_issue_etcd n3 etcd-ca
etcdwatch_start n1
found certificate-expires-soon n3
found even-members ""
found member-unexpected n2
pki_issue_etcd n3 etcd-ca
cleared certificate-expires-soon n3

begins "and its clock"
clock_set 3600
found clock-skew n3
found clock-skew n2
clock_set 0
cleared clock-skew n3
cleared clock-skew n2

begins "the disk has little room"
mount -o remount,size=100m "$T/disk"
found disk-very-low ""
mount -o remount,size=1g "$T/disk"
cleared disk-very-low ""

begins "the learner becomes a voter, and is removed"
promoted() {
	ETCD_AT=n1 etcd_ctl member promote "$(member_id n3)" >/dev/null
}
wait_until 60 promoted
cleared even-members ""
# etcd 3.5.1 to 3.5.19 does not write it into its database, and no 3.5 the name of one that joined later.
wait_until 40 fairlead n1 etcd snapshot save
case $("$ETCD_BIN/etcd" --version) in
*" 3.5."?$'\n'* | *" 3.5.1"?$'\n'*)
	found stored-members-differ ""
	expect_equal "in what" "$(newest .members_differ)" \
		"'n3' is a learner in the database and a voter in the member list"
	;;
*)
	expect_equal "in what" "$(newest .members_differ)" null
	;;
esac
# A plan of that snapshot has the names of etcd's list, and is refused only because etcd runs.
inside n1 env PATH="$ETCD_BIN:$PATH" "$FAIRLEAD" -o json etcd restore --data-dir "$T/etcd-n1" \
	--manifests "$T/none" "$(etcdwatch_directory n1)/$(newest .file)" >"$T/plan" 2>/dev/null || true
expect_equal "members of the plan" "$(jq -r 'select(.plan).plan.members | map(.name) | sort | join(" ")' "$T/plan")" "n1 n2 n3"
expect "what is against it" jq -e 'select(.plan).plan.against | length > 0 and all(test("runs on|listens on"))' "$T/plan"
began=$(date +%s%3N)
wait_until 30 removed n3
wait_exit 20 etcd-n3
found member-missing n3
rm -rf "$T/etcd-n3"
wait_until 30 added n3
etcd_start n3
cleared member-missing n3

begins "the one that nobody has named is removed"
wait_until 30 removed n3
wait_until 30 removed n2
cleared member-unexpected n2
