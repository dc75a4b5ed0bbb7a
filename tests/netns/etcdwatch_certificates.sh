#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Certificates that end: on this node's disk, and as a member presents them, before they end and when
# they have. With one that is over nobody talks to its member any more, and that this is why is said all
# the same. Renewed, all is well again.
. "$(dirname "$0")/lib-etcdwatch.sh"
use findings

EW_SCHEDULE="0 0 1 1 *"
hour=$(date -u -d '+2 hours' +%FT%H)
EW_MORE="---
apiVersion: fairlead/v1
kind: EtcdWatchConfig
interval: 1s
certificates: [$PKI/watched.crt]
compareBetween: ${hour#*T}:00-${hour#*T}:30
rules:"
for rule in member-down certificate-expires certificate-expires-soon; do
	EW_MORE+="
  - {id: $rule, after: 0s, hold: 0s}"
done
EW_MORE+="
  - {id: disk-low, off: true}
  - {id: disk-very-low, off: true}"

cluster_of_etcd
pki_issue watched etcd-ca watched DNS:watched
etcdwatch_start n1
wait_until 30 fairlead n1 etcd health >/dev/null
fairlead n1 etcd health | has_line "^data: not compared yet, next compared at $hour:0[0-9]:[0-9]*Z" ||
	fail "it does not wait for the time of the day: $(fairlead n1 etcd health)"

begins "one on the disk ends in ten days, and has ended"
PKI_DAYS=10 pki_issue watched etcd-ca watched DNS:watched
found certificate-expires "$PKI/watched.crt"
began=$(date +%s%3N)
PKI_CLOCK="-40d" pki_issue watched etcd-ca watched DNS:watched
found certificate-expires-soon "$PKI/watched.crt"
pki_issue watched etcd-ca watched DNS:watched

begins "n3's member presents one that ends in five days"
PKI_DAYS=5 pki_issue_etcd n3 etcd-ca
found certificate-expires-soon n3
pki_issue_etcd n3 etcd-ca
cleared certificate-expires-soon n3
finds_not certificate-expires-soon "$PKI/watched.crt" || fail "it was renewed"

begins "and one that has ended, after it was started anew"
PKI_CLOCK="-40d" pki_issue_etcd n3 etcd-ca
signal TERM etcd-n3
wait_exit 20 etcd-n3
etcd_start n3
found certificate-expires-soon n3
found member-down n3
[[ $(health '.[] | .sentence // empty') == *'n3 presents ended 10 days ago'* ]] || fail "it does not say why"
pki_issue_etcd n3 etcd-ca
cleared certificate-expires-soon n3
cleared member-down n3
