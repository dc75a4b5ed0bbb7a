#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Three members of a real etcd end at different indices: n3 early and in good order, n1 by kill -9 with
# its last writes in the WAL alone, n2 in good order at the end. `fairlead etcd rescue` finds n2; with
# n2 lost, it finds that n1's WAL has more, and etcd brings it in as it says; with n2 alone, a restore
# by the command that it prints has the last write. What is damaged, in use, of another cluster or not
# the same is said.
. "$(dirname "$0")/lib-etcdwatch.sh"

D1=$T/etcd-n1 D2=$T/etcd-n2 D3=$T/etcd-n3

rescue() { # ARGUMENT...
	"$FAIRLEAD" -o json etcd rescue "$@" >"$T/rescue.json"
}

best_is() { # DIRECTORY FILTER VALUE
	expect_equal "the best" "$(jq -r .best "$T/rescue.json")" "$1/member/snap/db"
	expect_equal "$2" "$(jq -r "$2" "$T/rescue.json")" "$3"
}

# With time for a machine that is busy.
ctl() {
	etcd_ctl --command-timeout 20s --dial-timeout 10s "$@"
}

survivor() { # DIRECTORY FILTER
	jq -r ".survivors[] | select(.db == \"$1/member/snap/db\") | $2" "$T/rescue.json"
}

write_keys() { # NODES NAME COUNT
	local i
	for ((i = 1; i <= $3; i++)); do
		ETCD_AT=$1 ctl put "/$2/$i" "$2 $i" >/dev/null
	done
}

cluster_of_etcd
say "n3 ends early"
write_keys n1 early 10
signal TERM etcd-n3
wait_exit 20 etcd-n3

say "n1 keeps its writes in the WAL, and is killed; n2 ends last"
signal TERM etcd-n1
wait_exit 20 etcd-n1
ETCD_OPTIONS=(--backend-batch-interval 1h)
etcd_start n1
export ETCD_AT="n1 n2"
wait_until 20 etcd_is_healthy
write_keys n1 late 10
ETCD_AT=n1 ctl get /late/10 >/dev/null
! rescue "$D1" || fail "a choice, although etcd runs"
expect_equal "n1" "$(survivor "$D1" .reason)" "etcd runs on it"
kill_hard etcd-n1
signal TERM etcd-n2
wait_exit 20 etcd-n2
ETCD_OPTIONS=()

say "n2 has come furthest"
rescue "$D1" "$D2" "$D3" || fail "no choice: $(cat "$T/rescue.json")"
best_is "$D2" .reason "its index is the highest: it has all that the others have, and more"
expect_equal "what only a WAL has" "$(jq -r .force_new_cluster "$T/rescue.json")" null
expect_equal "all the same up to where they are" "$(jq -rc '[.survivors[].agrees]' "$T/rescue.json")" '["yes",null,"yes"]'
# The last may not be known as agreed on: that comes with what follows it. But none is passed over.
in_wal=$(survivor "$D1" .wal.writes)
unsure=$(survivor "$D1" .wal.unsure_writes)
expect "n1's WAL has more than its database: $in_wal" test "$in_wal" -ge 8
expect_equal "with those that may not be agreed on" "$((in_wal + unsure))" 10
expect_equal "n3's has not" "$(survivor "$D3" .wal.writes)" 0
"$FAIRLEAD" etcd rescue "$D1" "$D2" "$D3" >"$T/out"
expect "the table says it" grep -Eq "^$D2 .* sound, the best$" "$T/out"

say "a sound one is better than one that has come further"
cp -r "$D2" "$T/damaged"
# Its keys are in this page, which is not in order any more.
offset=$(grep -abo '/late/10' "$T/damaged/member/snap/db" | tail -n 1 | cut -d : -f 1)
dd if=/dev/zero of="$T/damaged/member/snap/db" bs=4096 seek=$((offset / 4096)) count=1 conv=notrunc status=none
rescue "$T/damaged" "$D3" || fail "no choice"
best_is "$D3" .reason "no other one is sound"
expect_equal "the damaged one" "$(survivor "$T/damaged" .sound)" false

say "what is not the same is said, and what is of another cluster"
cp -r "$D3" "$T/wrong"
sed -i 's/early 3/eaRly 3/g' "$T/wrong/member/snap/db"
rescue "$D2" "$T/wrong" || fail "no choice"
expect_equal "the wrong one" "$(survivor "$T/wrong" .agrees)" no
"$FAIRLEAD" etcd rescue "$D2" "$T/wrong" | has_line "one of them is corrupt" || fail "it is not said"
env PATH="$ETCD_BIN:$PATH" "$FAIRLEAD" etcd restore --yes --data-dir "$T/other" --skip-hash-check --name n1 \
	--initial-cluster n1=http://127.0.0.1:2380 "$D3" >/dev/null 2>"$T/err" || fail "$(cat "$T/err")"
! rescue "$D2" "$T/other" || fail "a choice among two clusters"
expect_equal "the best" "$(jq -r .best "$T/rescue.json")" null

say "n2 is lost: etcd brings in what n1's WAL has"
cp -r "$D1" "$T/n1.copy"
rescue "$D1" "$D3" || fail "no choice"
expect_equal "whose WAL has more" "$(jq -r .force_new_cluster "$T/rescue.json")" "$D1"
ETCD_OPTIONS=(--force-new-cluster)
etcd_start n1
export ETCD_AT=n1
wait_until 20 etcd_is_healthy
expect_equal "the last write of them" "$(ctl get --print-value-only "/late/$in_wal")" "late $in_wal"
expect_equal "members" "$(ctl member list | wc -l)" 1
kill_hard etcd-n1
ETCD_OPTIONS=()

say "n2 alone is left: it is restored by the command that is printed"
rescue "$D2"
command=$(jq -r .command "$T/rescue.json")
eval "set -- $command --alone --yes --manifests $T/none"
inside n2 env PATH="$ETCD_BIN:$(dirname "$FAIRLEAD"):$PATH" "$@" >"$T/out" 2>&1 || fail "not restored: $(cat "$T/out")"
etcd_start n2
export ETCD_AT=n2
wait_until 20 etcd_is_healthy
expect_equal "the last write" "$(ctl get --print-value-only /late/10)" "late 10"
expect_equal "members" "$(ctl member list | wc -l)" 1
