#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# waits: for rounds of the watchdog
# Members that do not agree, as n1's watchdog sees them: one is cut off from the others while they add
# a member, and has another list; an endpoint is written into the configuration that is of another
# cluster, and taken out again; and the cluster is upgraded from etcd 3.4 to 3.5, one member after the
# other. With 3.5 all but the upgrade is done after it.
# etcd: 3.5
. "$(dirname "$0")/lib-etcdwatch.sh"
use findings

EW_SCHEDULE="0 0 1 1 *"
EW_MORE="---
apiVersion: fairlead/v1
kind: EtcdWatchConfig
interval: 1s
rules:"
for rule in versions-differ cluster-ids-differ member-lists-differ; do
	EW_MORE+="
  - {id: $rule, after: 0s, hold: 0s}"
done

begun_with=$("$NETNS_DIR/etcd-get" "${FAIRLEAD_ETCD:-3.4}")
asked_for=$("$begun_with/etcd" --version | sed -n 's/^etcd Version: //p')
FAIRLEAD_ETCD=3.4

upgraded() { # NODE: its member is
	signal TERM "etcd-$1"
	wait_exit 30 "etcd-$1"
	etcd_start "$1"
	wait_until 30 etcd_is_healthy
}

upgrade() {
	ETCD_BIN=$("$NETNS_DIR/etcd-get" 3.5) || fail "no etcd 3.5"
	begins "n3's member is started with 3.5"
	upgraded n3
	found versions-differ ""
	say "the others too"
	upgraded n2
	upgraded n1
	cleared versions-differ ""
}

# It may have to wait until the members are sure of each other.
added() {
	ETCD_AT=n1 etcd_ctl member add n4 --learner --peer-urls "https://$(mgmt_ip n1):2399" >"$T/added"
}
removed() {
	ETCD_AT=n1 etcd_ctl member remove "$(sed -n 's/^Member *\([0-9a-f]*\) added.*/\1/p' "$T/added")" >/dev/null
}

lists() {
	wait_until 30 etcd_move_leader n1
	say "n3 reaches no peer, and the others add a member"
	inside n3 nft -f - <<-NFT
		table inet cut {
			chain in { type filter hook input priority 0; tcp dport 2380 drop; tcp sport 2380 drop; }
		}
	NFT
	wait_until 30 added
	began=$(date +%s%3N)
	found member-lists-differ n3
	inside n3 nft delete table inet cut
	cleared member-lists-differ n3
	wait_until 30 removed
}

# A cluster of one, on n2.
stray_start() {
	spawn stray-n2 n2 env ETCD_UNSUPPORTED_ARCH="$(uname -m)" "$ETCD_BIN/etcd" --name stray \
		--data-dir "$T/stray" --logger zap --listen-peer-urls http://127.0.0.1:2480 \
		--initial-advertise-peer-urls http://127.0.0.1:2480 --initial-cluster stray=http://127.0.0.1:2480 \
		--listen-client-urls "https://$(mgmt_ip n2):2479" --advertise-client-urls "https://$(mgmt_ip n2):2479" \
		--client-cert-auth --trusted-ca-file "$PKI/etcd-ca.crt" \
		--cert-file "$PKI/etcd-n2.crt" --key-file "$PKI/etcd-n2.key"
	wait_until 30 log_says stray-n2 "serving client traffic"
}

# With or without it among the endpoints, from now on.
reload() { # FILTER
	etcdwatch_config n1 | sed "$1" >"$T/etcdwatch-n1.new"
	mv "$T/etcdwatch-n1.new" "$T/etcdwatch-n1.yaml"
	signal HUP etcdwatch-n1
}

cluster_ids() {
	stray_start
	begins "an endpoint of another cluster is configured"
	reload "s|^caFile:|  - https://$(mgmt_ip n2):2479\n&|"
	found cluster-ids-differ ""
	say "and taken out"
	reload ""
	wait_until 30 finds_not cluster-ids-differ ""
	kill_hard stray-n2
}

cluster_of_etcd
etcdwatch_start n1
all_answer() {
	[[ $(health '.[0].answer') == 3 ]]
}
wait_until 30 all_answer
[[ $asked_for == 3.4.* ]] || upgrade
lists
cluster_ids
[[ $asked_for != 3.4.* ]] || upgrade
