#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# limit: 60
# Two nodes with one name would each take the other's word for its own. The second refuses to start
# and says why; the first goes on.
. "$(dirname "$0")/lib.sh"

cluster_up
observe
say "n1 and n3 start"
vipd_start n1 n3
wait_until 15 settled
OWNER=$(holders)

say "n2 starts, and calls itself n1"
NODE_NAME[n2]=n1
vipd_start n2
# It might be its own predecessor's name, until a lease has run out.
wait_exit 20 vipd-n2
[[ $EXIT_CODE -ne 0 ]] || fail "it left without an error"
log_says vipd-n2 'node_name_taken.*node=n1' || fail "the log does not say why"
[[ $(wc -l <"$LOG_DIR/vipd-n2.log") -lt 50 ]] || fail "the log says it again and again"
expect "n2 does not have the address" holds_not n2
for_seconds 3 settled_on "$OWNER"

say "n2 starts under its own name"
unset 'NODE_NAME[n2]'
vipd_start n2
wait_until 10 settled_on "$OWNER"
wire_check --max-owners 1 --expect-moves 0
