#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The proof that the stories can fail. A vipd without fences (tests/fault/no_fence.c) plays two of
# them: its owner is stopped, and it is killed. Each must break, and for the right reason, which nothing
# excuses: two owners (3).
DIR=$(cd "$(dirname "$0")" && pwd)
ROOT=$(cd "$DIR/../.." && pwd)
BUILD=${BUILD:-$ROOT/build}
[[ $BUILD == /* ]] || BUILD=$ROOT/$BUILD
LOG_DIR=${LOG_DIR:-$BUILD/tests/netns/self_fault}
set -euo pipefail

export FAIRLEAD_PAUSES=8 VIPD=$BUILD/tests/fault/vipd-no-fence
[[ -x $VIPD ]] || {
	echo "no $VIPD (make faults)"
	exit 1
}
for story in vip_paused vip_killed; do
	out=$LOG_DIR/$story.out
	mkdir -p "$LOG_DIR"
	code=0
	LOG_DIR=$LOG_DIR/$story timeout 150 "$DIR/$story.sh" >"$out" 2>&1 || code=$?
	if [[ $code -ne 3 ]] || ! grep -Eq 'overlap [0-9.]+ ms \(n[123] and n[123]\)' "$out"; then
		cat "$out"
		echo "FAILED: $story with a vipd that has no fences did not find two owners (exit $code)"
		exit 1
	fi
	echo "$story finds it: $(grep -Eo -m 1 'overlap [0-9.]+ ms.*' "$out")"
done
