#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two of three etcd members die: nobody can know who owns the address, so nobody answers for it. With
# the quorum it comes back, on one node.
. "$(dirname "$0")/lib.sh"


cluster_with_owner
second=$(node_other_than "$OWNER")
third=$(node_other_than "$OWNER" "$second")
say "etcd loses the members of $second and $third"
kill_hard "etcd-$second" "etcd-$third"
mark_all "they are lost" # until then a confirmation may have passed
wait_until 8 held_by
last=$(wire_figure old_last_ms --from "they are lost")
[[ ${last%.*} -le $BOUND_MS ]] || fail "$OWNER spoke for $last ms, bound $BOUND_MS ms"
mark_all "silence"
for_seconds 4 held_by
[[ $(wire_figure answers --from silence) -eq 0 ]] || fail "somebody answers without a quorum"

say "and gets them back"
etcd_start "$second"
etcd_start "$third"
wait_until 20 etcd_is_healthy
wait_until 10 settled
wait_until 2 client_reaches "$(holders)"
