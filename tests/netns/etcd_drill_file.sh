#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `fairlead etcd drill --file`, without any daemon: a snapshot that etcdctl has saved comes back. One of
# an etcd that had no room left comes back too, and takes no writes, which is said; one with the alarm
# CORRUPT is not even tried.
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

BIN=$("$NETNS_DIR/etcd-get" "${FAIRLEAD_ETCD:-system}")
export ETCDCTL_API=3

ctl() { # ARGUMENT...
	"$BIN/etcdctl" --command-timeout 20s "$@" 2>>"$LOG_DIR/etcdctl.log"
}

etcd_begin() { # a new one, with room for two of the values
	rm -rf "$T/data"
	env ETCD_UNSUPPORTED_ARCH="$(uname -m)" "$BIN/etcd" --data-dir "$T/data" --logger zap \
		--quota-backend-bytes 2000000 >>"$LOG_DIR/etcd.log" 2>&1 </dev/null &
	PID[etcd]=$!
	wait_until 30 ctl endpoint health
}

drill() { # FILE ARGUMENT...; sets CODE
	local file=$1
	shift
	CODE=0
	env PATH="$BIN:$PATH" "$FAIRLEAD" -o json etcd drill --file "$file" "$@" >"$T/out" 2>"$T/err" || CODE=$?
}

said() { # FILTER: of the last line
	tail -n 1 "$T/out" | jq -r "$1"
}

check_is() { # CHECK FIELD VALUE
	expect_equal "$1" "$(said ".checks[] | select(.check == \"$1\") | .$2")" "$3"
}

alarm_is() { # NAME
	[[ $(ctl alarm list) == *"alarm:$1"* ]]
}

say "a file that etcdctl has saved"
mount -t tmpfs tmpfs /var/tmp # where it works, unless it is told where
etcd_begin
ctl put first value >/dev/null
ctl snapshot save "$T/good.db" >/dev/null
drill "$T/good.db"
[[ $CODE -eq 0 ]] || fail "it does not come back: $(cat "$T/out" "$T/err")"
check_is readable_keys found 1
check_is alarms ok true
expect_equal "files that are left" "$(ls -A /var/tmp)" ""

say "etcd has no room left"
head -c 500000 /dev/urandom >"$T/value"
n=0
until ! ctl put "large/$((n += 1))" <"$T/value" >/dev/null; do
	[[ $n -lt 20 ]] || fail "it takes them all"
done
wait_until 30 alarm_is NOSPACE
n_keys=$(ctl get --prefix '' --keys-only | grep -c .)
ctl snapshot save "$T/full.db" >/dev/null
drill "$T/full.db" --directory "$T/room"
expect_equal "exit code" "$CODE" 1
expect_equal "code" "$(said .error)" ALARM
[[ $(said .reason) == *"alarm NOSPACE stands"*"takes no writes before 'etcdctl alarm disarm'"* ]] ||
	fail "no reason: $(cat "$T/out")"
check_is alarms found 1
check_is readable_keys found "$n_keys"
check_is restored_hashkv ok true
check_is sample ok true
expect "no file is left" test ! -e "$T/room"

say "a member found other data than its own"
kill_hard etcd
etcd_begin
member=$(ctl endpoint status --write-out json | jq '.[0].Status.header.member_id')
curl -sS -X POST -d "{\"action\":\"ACTIVATE\",\"memberID\":\"$member\",\"alarm\":\"CORRUPT\"}" \
	http://127.0.0.1:2379/v3/maintenance/alarm >"$T/activated"
wait_until 30 alarm_is CORRUPT
ctl snapshot save "$T/corrupt.db" >/dev/null
drill "$T/corrupt.db" --directory "$T/room"
expect_equal "exit code" "$CODE" 1
expect_equal "code" "$(said .error)" ALARM
[[ $(said .reason) == *"alarm CORRUPT stands in the snapshot"* ]] || fail "no reason: $(cat "$T/out")"
! grep -q '"phase":"start"' "$T/out" || fail "an etcd was started on it"
