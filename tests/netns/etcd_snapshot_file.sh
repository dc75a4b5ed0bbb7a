#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Snapshots of a real etcd, after random histories of puts, deletions, transactions, leases, users,
# compactions and defragmentations, from the middle on with authentication: `fairlead etcd snapshot`
# finds what etcd's own tools find, computes the HashKV that the server answers, and reads the keys that
# the server has, at every revision asked for. From the environment: SEED, by which a history comes again,
# and ROUNDS, for more than make check has time for.
set -eEuo pipefail

NETNS_DIR=$(cd "$(dirname "$0")" && pwd)
ROOT=$(cd "$NETNS_DIR/../.." && pwd)
STORY=$(basename "$0" .sh)
BUILD=${BUILD:-$ROOT/build}
[[ $BUILD == /* ]] || BUILD=$ROOT/$BUILD
FAIRLEAD=${FAIRLEAD:-$BUILD/bin/fairlead}
LOG_DIR=${LOG_DIR:-$BUILD/tests/netns/$STORY}
# shellcheck source=/dev/null
. "$NETNS_DIR/lib/world.sh"
world_enter "$@"

ROUNDS=${ROUNDS:-2}
RANDOM=${SEED:=$RANDOM$RANDOM}
BIN=$("$NETNS_DIR/etcd-get" "${FAIRLEAD_ETCD:-system}")
export ETCDCTL_API=3

# --- etcd --------------------------------------------------------------------------------------------

AS=() # whom etcdctl speaks for, once that matters

ctl() { # ARGUMENT...
	"$BIN/etcdctl" --command-timeout 20s "${AS[@]}" "$@" 2>>"$LOG_DIR/etcdctl.log"
}

# The tool that has the offline commands.
util() { # ARGUMENT...
	if [[ -x $BIN/etcdutl ]]; then
		"$BIN/etcdutl" "$@" 2>>"$LOG_DIR/etcdctl.log"
	else
		ctl "$@"
	fi
}

# From 3.6 on the flag has lost its "experimental", which 3.7 does not know any more; and the total of
# keys is that of the live ones, which is `live_keys` here.
VERSION=$("$BIN/etcd" --version | sed -n 's/^etcd Version: //p')
BATCH_LIMIT=--experimental-compaction-batch-limit
TOTAL=totalKey
if [[ $VERSION != 3.[45].* ]]; then
	BATCH_LIMIT=--compaction-batch-limit
	TOTAL=live_keys
fi

# Compacts one revision at a time, so that a compaction takes long enough to be seen under way; and
# passwords are checked in no time.
etcd_start() { # DATA_DIR
	ETCD_UNSUPPORTED_ARCH=$(uname -m) "$BIN/etcd" --name n1 --data-dir "$1" --logger zap \
		"$BATCH_LIMIT" 1 --bcrypt-cost 4 >>"$LOG_DIR/etcd.log" 2>&1 </dev/null &
	PID[etcd]=$!
	wait_until 20 ctl endpoint health
}

etcd_stop() {
	signal TERM etcd
	wait_exit 20 etcd
}

status_field() { # JQ_PATH
	ctl endpoint status --write-out json | jq "$1"
}

current() {
	status_field '.[0].Status.header.revision'
}

# "HASH COMPACT_REVISION" at a revision; 0: the current one.
server_hash() { # REVISION
	ctl endpoint hashkv --rev "$1" --write-out json |
		jq -r '.[0].HashKV | "\(.hash) \(.compact_revision // -1)"'
}

file_hash() { # FILE REVISION_OPTION...
	"$FAIRLEAD" -o json etcd snapshot verify "$@" |
		jq -r '"\(.hashkv) \(.compact_revision // -1)"'
}

# --- histories ---------------------------------------------------------------------------------------

LEASES=() USERS=() ROLES=()
KEYS=40

# These set a variable: what is drawn in a subshell does not follow from SEED.
draw_key() {
	printf -v KEY '/registry/%d/key-%d' "$((RANDOM % 3))" "$((RANDOM % KEYS))"
}

draw_value() { # now and then empty, or larger than a page
	local n=$((RANDOM % 50))
	[[ $((RANDOM % 12)) -ne 0 ]] || n=$((RANDOM % 20000))
	printf -v VALUE '%*s' "$n" ''
	VALUE=${VALUE// /$((RANDOM % 10))}
}

# Different keys, so that no key is changed twice.
draw_transaction() {
	local i first=$((RANDOM % KEYS))
	TRANSACTION=$'\n'
	for i in 1 2 3 4; do
		if [[ $((RANDOM % 3)) -eq 0 ]]; then
			TRANSACTION+="del /registry/t/key-$(((first + i) % KEYS))"$'\n'
		else
			draw_value
			TRANSACTION+="put /registry/t/key-$(((first + i) % KEYS)) \"$VALUE\""$'\n'
		fi
	done
	TRANSACTION+=$'\n'
}

# One more user or role, or something about those that there are, which may be so already.
change_auth() {
	case $((RANDOM % 8)) in
	0 | 1)
		USERS+=("user-${#USERS[@]}")
		ctl user add "${USERS[-1]}:secret"
		;;
	2 | 3)
		ROLES+=("role-${#ROLES[@]}")
		ctl role add "${ROLES[-1]}"
		;;
	4 | 5)
		[[ ${#ROLES[@]} -eq 0 ]] ||
			ctl role grant-permission "${ROLES[RANDOM % ${#ROLES[@]}]}" --prefix readwrite "$KEY" || true
		;;
	6)
		[[ ${#ROLES[@]} -eq 0 || ${#USERS[@]} -eq 0 ]] ||
			ctl user grant-role "${USERS[RANDOM % ${#USERS[@]}]}" "${ROLES[RANDOM % ${#ROLES[@]}]}" || true
		;;
	7) [[ ${#USERS[@]} -eq 0 ]] || ctl user delete "${USERS[RANDOM % ${#USERS[@]}]}" || true ;;
	esac
}

change() {
	draw_key
	draw_value
	case $((RANDOM % 20)) in
	0 | 1 | 2 | 3) ctl del "$KEY" ;;
	4) ctl del --prefix "/registry/$((RANDOM % 3))/key-1" ;;
	5 | 6 | 7)
		draw_transaction
		ctl txn <<<"$TRANSACTION"
		;;
	8)
		LEASES+=("$(ctl lease grant 3600 | awk '{ print $2 }')")
		ctl put --lease="${LEASES[-1]}" "$KEY" leased
		;;
	9)
		[[ ${#LEASES[@]} -eq 0 ]] || ctl lease revoke "${LEASES[RANDOM % ${#LEASES[@]}]}" || true
		;;
	10 | 11 | 12) change_auth ;;
	*) ctl put "$KEY" "$VALUE" ;;
	esac >/dev/null
}

changes() { # N
	local i
	for ((i = 0; i < $1; i++)); do
		change
	done
}

# --- comparing ---------------------------------------------------------------------------------------

save() { # FILE
	rm -f "$1"
	ctl snapshot save "$1" >/dev/null
}

keys_of_server() { # REVISION; etcdctl leaves out what is empty
	ctl get "" --prefix --rev "$1" --write-out json | jq -cS '.kvs // [] | .[] | .value //= ""'
}

keys_of_file() { # FILE REVISION
	"$FAIRLEAD" -o json etcd snapshot get --prefix --revision "$2" "" "$1" 2>/dev/null | jq -cS . ||
		true
}

# Everything that can be known of the file, and the server is as it was when it was saved. The entry
# that a raised revision leaves counts as a key, and cannot be read.
compare() { # FILE [UNREADABLE_KEYS]
	local file=$1 unreadable=${2:-0} last compacted revision total
	total=$("$FAIRLEAD" -o json etcd snapshot status "$file" | jq ".$TOTAL")
	expect_equal "status" "$("$FAIRLEAD" etcd snapshot status "$file" |
			awk -F ', ' -v OFS=', ' -v total="$total" '{ $3 = total; print }')" \
		"$(util snapshot status "$file")"
	expect_equal "hash, as JSON" \
		"$("$FAIRLEAD" -o json etcd snapshot status "$file" | jq -c "[.hash, .revision, .$TOTAL, .totalSize]")" \
		"$(util snapshot status "$file" --write-out json | jq -c '[.hash, .revision, .totalKey, .totalSize]')"
	last=$(current)
	"$FAIRLEAD" -o json etcd snapshot verify "$file" >"$T/verified"
	expect_equal "current revision" "$(jq .current_revision "$T/verified")" "$last"
	expect_equal "authentication, users and roles" \
		"$(jq -c '[.auth_enabled, .users, .roles]' "$T/verified")" \
		"[$([[ ${#AS[@]} -eq 0 ]] && echo false || echo true),$(ctl user list | wc -l),$(ctl role list | wc -l)]"
	expect_equal "HashKV" "$(file_hash "$file")" "$(server_hash 0)"
	compacted=$(server_hash 0)
	compacted=${compacted#* }
	for ((revision = last; revision > last - 40 && revision > compacted && revision > 1;
		revision -= 1 + RANDOM % 19)); do
		expect_equal "HashKV at $revision" "$(file_hash "$file" --revision "$revision")" \
			"$(server_hash "$revision")"
		keys_of_file "$file" "$revision" >"$LOG_DIR/keys-of-file"
		keys_of_server "$revision" >"$LOG_DIR/keys-of-server"
		expect "keys at $revision" cmp "$LOG_DIR/keys-of-file" "$LOG_DIR/keys-of-server"
		expect_equal "number of keys at $revision" \
			"$("$FAIRLEAD" -o json etcd snapshot verify --revision "$revision" "$file" | jq .live_keys)" \
			$(($(wc -l <"$LOG_DIR/keys-of-server") + unreadable))
	done
}

# --- the story ---------------------------------------------------------------------------------------

# Whoever is root may go on; nobody else may do anything.
auth_up() {
	local command
	for command in "user add root:secret" "role add root" "user grant-role root root" "auth enable"; do
		# shellcheck disable=SC2086
		ctl $command >/dev/null || [[ $command == "role add root" ]]
	done
	! ctl get nothing >/dev/null || fail "authentication is not on"
	AS=(--user root:secret)
}

say "etcd: $("$BIN/etcd" --version | head -n 1); SEED=$SEED"
etcd_start "$T/data"
save "$T/0.db"
compare "$T/0.db"

say "no key alive, and a compaction at the last deletion"
for key in a b; do
	ctl put "$key" x >/dev/null
	ctl del "$key" >/dev/null
done
ctl compact "$(current)" --physical >/dev/null
save "$T/0.db"
compare "$T/0.db"

for ((round = 1; round <= ROUNDS; round++)); do
	if [[ $round -eq $(((ROUNDS + 1) / 2 + 1)) ]]; then
		say "with authentication from now on"
		auth_up
	fi
	say "round $round: changes"
	changes 30
	save "$T/a.db"
	compare "$T/a.db"

	say "round $round: a compaction, under way"
	last=$(current)
	ctl compact $((last - RANDOM % 10)) >/dev/null
	save "$T/b.db"
	compare "$T/b.db"
	[[ $round -ne 1 ]] || changes 5

	say "round $round: and finished"
	ctl put /registry/tick x >/dev/null # so that there is something to compact
	[[ $((round % 2)) -ne 0 ]] || ctl del /registry/tick >/dev/null
	ctl compact "$(current)" --physical >/dev/null
	changes 3
	save "$T/c.db"
	compare "$T/c.db"
	ctl defrag >/dev/null
	before=$(server_hash 0)
	expect_equal "HashKV behind a defrag" "$(server_hash 0)" "$before"
	save "$T/d.db"
	compare "$T/d.db"
	expect "the same keys as before" "$FAIRLEAD" etcd snapshot diff "$T/c.db" "$T/d.db" >/dev/null
done
unfinished=$("$FAIRLEAD" -o json etcd snapshot verify "$T/b.db" |
	jq '.compact_revision != .finished_compact_revision')
expect_equal "a compaction was seen under way" "$unfinished" true

say "differences"
key=$(ctl get --prefix /registry --keys-only | grep -v '^$' | head -n 1)
ctl del "$key" >/dev/null
ctl put /registry/fresh value >/dev/null
save "$T/e.db"
expect_equal "diff" "$("$FAIRLEAD" etcd snapshot diff "$T/d.db" "$T/e.db" | head -n 2 | sort)" \
	"$(printf '+ /registry/fresh\n- %s' "$key")"

say "the database of a member that was stopped"
hash=$(server_hash 0)
etcd_stop
expect_equal "HashKV of the database" "$(file_hash --no-digest "$T/data/member/snap/db")" "$hash"
expect "no digest, not verified" eval '! "$FAIRLEAD" etcd snapshot verify "$T/data/member/snap/db" 2>/dev/null'

if util snapshot restore --help | has_line bump-revision; then
	say "restored, with a raised revision"
	util snapshot restore "$T/e.db" --data-dir "$T/restored" --bump-revision 1000000 \
		--mark-compacted --name n1 --initial-cluster n1=http://localhost:2380 >/dev/null
	"$FAIRLEAD" -o json etcd snapshot verify --no-digest "$T/restored/member/snap/db" >"$T/offline"
	etcd_start "$T/restored"
	save "$T/f.db"
	compare "$T/f.db" 1
	expect_equal "HashKV before etcd had started" "$(jq .hashkv "$T/offline")" \
		"$(server_hash 0 | cut -d ' ' -f 1)"
	changes 20
	save "$T/f.db"
	compare "$T/f.db" 1
	etcd_stop
fi

say "a wrong bit in a value: etcd's own status does not see it"
offset=$(grep -abo fresh "$T/e.db" | head -n 1 | cut -d : -f 1)
cp "$T/e.db" "$T/bad.db"
printf F | dd of="$T/bad.db" bs=1 seek="$offset" conv=notrunc status=none
expect "etcd's status" util snapshot status "$T/bad.db" >/dev/null
expect "verify" eval '! "$FAIRLEAD" etcd snapshot verify "$T/bad.db" 2>"$T/why"'
expect "the reason" grep -q 'the digest at its end is not that of what is before it' "$T/why"
