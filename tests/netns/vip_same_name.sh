#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two nodes with one name would each take the other's word for its own. The second refuses to start
# and says why; the first goes on. A node that comes back and finds its own key of before is no second
# one, even if that key's lease is longer than those of today, and etcd's elections give it its whole
# time again and again; nor if the key was copied and hangs on no lease.
POLICY='leaseTTL: 4s'
. "$(dirname "$0")/lib.sh"

OLD='{"instance":"0123456789abcdef0123456789abcdef","priority":100,"health":"good","eligible":true,"etcdLeader":false}'

cluster_watched
say "n1 and n3 start"
vipd_start n1 n3
wait_until 15 settled
OWNER=$(holders)

say "n2 starts, and calls itself n1"
NODE_NAME[n2]=n1
vipd_start n2
# It might be its own predecessor's name, until that one's lease was renewed twice.
wait_exit 20 vipd-n2
[[ $EXIT_CODE -ne 0 ]] || fail "it left without an error"
log_says vipd-n2 'node_name_taken.*node=n1' || fail "the log does not say why"
[[ $(wc -l <"$LOG_DIR/vipd-n2.log") -lt 50 ]] || fail "the log says it again and again"
expect "n2 does not have the address" holds_not n2
for_seconds 3 settled_on "$OWNER"

say "n2 starts under its own name, and finds its key from before a crash"
lease=$(ETCD_AT=n1 etcd_ctl lease grant 10 | awk '{ print $2 }')
ETCD_AT=n1 etcd_ctl put --lease="$lease" "fairlead/v1/vip/$VIP/node/n2" \
	"$OLD"
unset 'NODE_NAME[n2]'
vipd_start n2
for _ in 1 2; do
	for_seconds 5 holds "$OWNER"
	etcd_move_leader "$(node_other_than "$(etcd_leader)")"
done
wait_until 20 status_is n2 .state standby

say "n2 comes back, and its key was copied without the lease"
signal TERM vipd-n2
wait_exit 10 vipd-n2
ETCD_AT=n1 etcd_ctl put "fairlead/v1/vip/$VIP/node/n2" "$OLD"
vipd_start n2
wait_until 5 status_is n2 .state standby
wait_until 5 settled_on "$OWNER"
wire_check --max-owners 1 --expect-moves 0
