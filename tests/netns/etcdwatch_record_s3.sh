#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# waits: for etcd, for what it is told to be uploaded, and for a store that is down
# Two nodes upload their records, encrypted, to a store in S3. It is down for a while, and gets the rest
# when it is back; what no snapshot there needs is removed there. Then keys are deleted by mistake, and all
# nodes are lost with their disks. A new machine with only the configuration, the nodes' public keys and the
# identity restores the moment before the mistake from the store; the HashKV is what the members had.
. "$(dirname "$0")/lib-etcdwatch.sh"

EW_SCHEDULE="@yearly"
EW_TAKER=every-node
NEW=$T/new-machine
trust=()

record() { # NODE FILTER
	fairlead "$1" -o json etcd record status 2>/dev/null | jq -r "$2"
}

target_has() { # NODE REVISION
	local last
	last=$(record "$1" '.targets[0].last_revision // 0')
	[[ ${last:-0} -ge $2 ]]
}

target_fails() { # NODE
	[[ $(record "$1" '.targets[0].error') != null ]]
}

revision() {
	etcd_ctl get nothing --write-out json | jq .header.revision
}

start() { # NODE
	install -d -o nobody -m 700 "$T/record-$1"
	EW_MORE="$(store_targets "site={last: 1}")
---
apiVersion: fairlead/v1
kind: EtcdWatchConfig
record: {directory: $T/record-$1, keep: 60s, reserve: 1MiB, targets: [{job: minutely, target: site}],
  uploadEvery: 1s}"
	etcdwatch_start "$1"
}

restore() { # ARGUMENT...: on a new machine, which has no record and no snapshots
	rm -rf "$NEW" "$NEW.rebuilt.db"
	inside n1 env PATH="$ETCD_BIN:$PATH" "$FAIRLEAD" -o json etcd restore s3:site/latest "$@" \
		--config "$T/etcdwatch-n1.yaml" --identity "$T/one.key" --data-dir "$NEW" --manifests "$T/none" \
		--bump-revision 0 --alone --name n1 --yes >"$T/out" 2>&1
}

cluster_of_etcd
stores_up
age-keygen -o "$T/one.key" 2>/dev/null
chmod 644 "$T/one.key"
EW_PACKING="compression: {algorithm: zstd, level: 3}
encryption: {recipients: [$(age-keygen -y "$T/one.key")]}"

say "two nodes record, and upload that"
start n1
start n2
for node in n1 n2; do
	wait_until 60 target_is "$node" site .stored 1
done
fill_etcd 10 100
good=$(revision)
for node in n1 n2; do
	wait_until 20 target_has "$node" "$good"
done
lag=$(record n1 '.targets[0].recoverable_age_ms')
say "the store is $lag ms behind"
[[ $lag -le 30000 ]] || fail "the store is $lag ms behind"
fairlead n1 metrics etcdwatch |
	has_line '^fairlead_etcdwatch_record_target_lag_seconds{job="minutely",target="site"} [0-9]' ||
	fail "the metrics do not have the lag"

say "the store is down: recording goes on, and it gets the rest afterwards"
store_shut site
wait_until 20 target_fails n1
fill_etcd 10 100
good=$(revision)
wait_until 20 eval '[[ $(record n1 .last_revision) -ge $good ]]'
store_open site
for node in n1 n2; do
	wait_until 40 target_has "$node" "$good"
done

say "what no snapshot in the store needs goes from there, of both nodes"
first=$(store_keys site | sed -n 's|/whole.json$||p' | sort -t / -k 4 | sed -n 1p)
[[ -n $first ]] || fail "no segment was closed and uploaded"
fill_etcd 5 100
# Twice, as the node that removes has to see that the other one's old snapshot has gone.
for node in n1 n2 n1 n2; do
	wait_until 20 fairlead "$node" etcd snapshot save >/dev/null
done
wait_until 20 eval '! store_keys site | has_line "^$first/"'
wait_until 20 eval '[[ $(record n1 .targets[0].removed_objects) -gt 0 || $(record n2 .targets[0].removed_objects) -gt 0 ]]'
fill_etcd 5 100
good=$(revision)
for node in n1 n2; do
	wait_until 20 target_has "$node" "$good"
done
hash=$(etcd_ctl endpoint hashkv --rev "$good" --write-out json | jq '.[0].HashKV.hash')

at=$(date -u +%FT%TZ)
wait_until 3 eval '[[ $(date -u +%FT%TZ) != "$at" ]]'

say "a mistake, and then all nodes are lost"
etcd_ctl del fill/ --prefix >/dev/null
bad=$(revision)
for node in n1 n2; do
	wait_until 20 target_has "$node" "$bad"
done
for node in n1 n2; do
	trust+=(--trust "$(fairlead "$node" -o json etcd snapshot key | jq -r .key)")
done
! grep -h event=record_segment_not_uploaded "$LOG_DIR"/etcdwatch-n?.log || fail "a segment was passed over"
kill_hard etcdwatch-n1 etcdwatch-n2 etcd-n1 etcd-n2 etcd-n3
rm -rf "$T"/record-* "$T"/snapshots-* "$T"/etcd-n*
expect_equal "objects of the record that are not encrypted" \
	"$(store_keys site | grep '^cluster-a/record/' | grep -cv -e '\.age$' -e '\.json$')" 0

say "the moment before is restored from the store alone"
restore --to-time "$at" "${trust[@]}" || fail "not restored: $(cat "$T/out")"
expect_equal "its revision" "$(jq -c 'select(.result) | .result.revision' "$T/out")" "$good"
expect_equal "its HashKV" "$(jq -c 'select(.result) | .result.hashkv' "$T/out")" "$hash"
expect_equal "the record is of" "$(jq -r 'select(.rebuilt) | .rebuilt.fetched.node' "$T/out" | tr -d 12)" n

say "another cluster that shares the prefix removes nothing of it"
before=$(store_keys site)
! inside sw "$T/bin/etcdwatch-worker" record prune --cluster-id "$(jq -r 'select(.rebuilt) | .rebuilt.record.cluster_id' "$T/out")" \
	--oldest-revision 999999 --endpoint "http://127.0.0.1:$STORE_SERVER_PORT" --bucket "${STORE_BUCKET[site]}" \
	--access-key-file "$T/s3.access" --secret-key-file "$T/s3.secret" --s3-prefix cluster-a/ \
	--owner "$(printf %032d 1)" --owner-node n9 --owner-prefix cluster-a/ >"$T/said" || fail "it was not refused"
has_line '"error":"FOREIGN"' "$T/said" || fail "another reason: $(cat "$T/said")"
expect_equal "what is there" "$(store_keys site)" "$before"

say "a key that another process put into the file, or that others may read, signs nothing"
signs() { # FILE CODE
	! "$T/bin/etcdwatch-worker" record send --directory "$T" --scratch "$T/scratch" --node n1 \
		--signing-key "$1" --signed-by "${trust[1]}" --endpoint http://127.0.0.1:1 --bucket b \
		--access-key-file "$T/s3.access" --secret-key-file "$T/s3.secret" --attempts 1 >"$T/said" ||
		fail "it was not refused"
	has_line "\"error\":\"$2\"" "$T/said" || fail "another reason: $(cat "$T/said")"
}
signs "$T/state-n1/signing.key" S3_UNREACHABLE
signs "$T/state-n2/signing.key" SIGNING_KEY
chmod 640 "$T/state-n1/signing.key"
signs "$T/state-n1/signing.key" SIGNING_KEY
