#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One member is restored by itself, as another cluster, while the two others go on. vipd on that node
# has the endpoints of both. It stays with the cluster it knows and names the endpoint that is not of
# it: one owner, whoever is killed, and overlap 0. A vipd that starts without memory takes the cluster
# of most endpoints; where the endpoints are of two clusters and neither has most, it holds nothing.
. "$(dirname "$0")/lib.sh"

warns_of() { # NODE PATTERN
	status "$1" '.warnings[]' 2>/dev/null | has_line -E "$2"
}

cluster_with_owner
[[ $OWNER == n2 ]] || fairlead "$OWNER" vip move "$VIP" to n2
wait_until 5 settled_on n2
say "n1's member is restored by itself, as another cluster"
ETCD_AT=n1 etcd_ctl snapshot save "$T/backup.db" >/dev/null
accident=$STEP
kill_hard etcd-n1
etcd_restore n1 alone n1
etcd_start n1
wait_until 20 eval 'ETCD_AT=n1 etcd_is_healthy'
[[ $(etcd_cluster_id n1) != "$(etcd_cluster_id n2)" ]] || fail "both clusters have the same id: nothing was put to the test"
# In which the other cluster's record would be silent for long enough, three times over.
for_seconds 9 settled_on n2
wait_until 5 warns_of n1 "127.0.0.1:2379 .*another etcd cluster"
wire_check --from "$accident" --max-overlap-ms 0 --max-gap-ms 100 --expect-moves 0
fairlead n1 status >"$LOG_DIR/status.log" || true
grep -q "another etcd cluster" "$LOG_DIR/status.log" || fail "fairlead status does not name it"

say "it is moved to the node whose own member is of the other cluster"
moving=$STEP
fairlead n2 vip move "$VIP" to n1
wait_until 5 settled_on n1
wire_check --from "$moving" --max-overlap-ms 0 --max-gap-ms 100 --expect-moves 1

say "vipd on n1 is restarted: the state file remembers"
restarting=$STEP
signal USR2 vipd-n1
wait_exit 5 vipd-n1
vipd_start n1
wait_until 10 settled_on n1
for_seconds 4 settled_on n1
wire_check --from "$restarting" --max-overlap-ms 0 --max-gap-ms 100 --expect-moves 0

say "vipd on n1 starts without memory: it takes the cluster of most endpoints"
kill_hard vipd-n1
wait_until 5 settled_on_other_than n1
rm "$T/run-n1/vipd.state"
vipd_start n1
wait_until 10 settled
log_says vipd-n1 "etcd_cluster old=0 new=$(etcd_cluster_id n2)" || fail "it took the other cluster"
for_seconds 4 settled

say "without memory and with one endpoint of each cluster, it takes no part, and says why"
kill_hard etcd-n3 vipd-n1
wait_until 5 held_by
rm "$T/run-n1/vipd.state"
vipd_start n1
wait_until 5 warns_of n1 "endpoints of different clusters, and none has most"
for_seconds 6 held_by
etcd_start n3
wait_until 20 settled

say "the other cluster is meant to stay: the old members are stopped, and all go along by themselves"
kill_hard etcd-n2 etcd-n3
for node in "${NODES[@]}"; do
	wait_until 12 log_says "vipd-$node" "etcd_cluster old=.* new=$(etcd_cluster_id n1)"
done
wait_until 15 settled
for_seconds 3 settled
wire_check --max-overlap-ms 0
