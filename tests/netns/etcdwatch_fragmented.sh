#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A member whose database is mostly free pages, as after much that was written over and compacted: the
# watchdog says so, and `etcd defrag` ends it.
. "$(dirname "$0")/lib-etcdwatch.sh"
use findings

NODES=(n1)
EW_SCHEDULE="0 0 1 1 *"
EW_MORE="---
apiVersion: fairlead/v1
kind: EtcdWatchConfig
interval: 1s
rules: [{id: fragmented, after: 0s, hold: 0s}]"
# More than 100 MiB of it must be in use before it is worth a word.
KEYS=84
ROUNDS=3

# Almost as much as etcd takes in one request.
write_all() {
	head -c 1400000 /dev/urandom >"$T/value"
	local endpoint
	endpoint="https://$(mgmt_ip n1):2379"
	seq "$KEYS" | inside sw env ETCDCTL_API=3 xargs -P 2 -I{} sh -c '"$0" --endpoints "$1" --cacert "$2/etcd-trust.crt" \
		--cert "$2/client-admin.crt" --key "$2/client-admin.key" put "large/{}" <"$3"' \
		"$ETCD_BIN/etcdctl" "$endpoint" "$PKI" "$T/value" >/dev/null
}

mib_of() { # FIELD of the member's status
	etcd_ctl endpoint status --write-out json | jq ".[0].Status.$1 / 1048576 | floor"
}

cluster_of_etcd
etcdwatch_start n1
wait_until 30 finds_not fragmented n1

begins "$KEYS keys of 1.4 MB are written $ROUNDS times, and compacted"
for ((i = 0; i < ROUNDS; i++)); do
	write_all
done
etcd_ctl --command-timeout 60s compact --physical "$(etcd_ctl endpoint status --write-out json | jq '.[0].Status.header.revision')" >/dev/null
# Pages that a commit has freed are free from the next one on.
fill_etcd 2
began=$(date +%s%3N)
found fragmented n1
before=$(mib_of dbSize)

say "it is written anew"
fairlead n1 --yes etcd defrag n1 >/dev/null
cleared fragmented n1
expect "the database is less than half of $before MiB" test "$(mib_of dbSize)" -lt $((before / 2))
