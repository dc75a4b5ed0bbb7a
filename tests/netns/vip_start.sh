#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# All three start at the same moment. One of them becomes the owner, the others know it, a client is
# served, and there it stays.
. "$(dirname "$0")/lib.sh"

cluster_with_owner
wait_until 2 client_reaches "$OWNER"
for_seconds 3 settled_on "$OWNER"
wire_check --max-owners 1 --expect-moves 0
wire_check --from "$STEP" --max-gap-ms 100

# Whoever has no access to etcd can ask vipd where its members are.
names=$(socat - "UNIX-CONNECT:$T/run-n1/vipd.sock" <<<'etcd members' | grep '^{' | jq -r .name | sort | xargs)
expect_equal "etcd members" "$names" "n1 n2 n3"

say "once more, with nobody left who remembers"
kill_hard vipd-n1 vipd-n2 vipd-n3
wait_until 10 held_by
vipd_start "${NODES[@]}"
wait_until 20 settled
