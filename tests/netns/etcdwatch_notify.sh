#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A webhook is told of what etcdwatch finds, signed, until it has taken it: a receiver that is not there,
# then one that is broken, busy, and well. What was raised and is over meanwhile is told once. What it was
# not told when etcdwatch was killed, and still holds, the next one tells it.
. "$(dirname "$0")/lib-etcdwatch.sh"

EW_SCHEDULE="0 0 1 1 *"
EW_MORE="---
apiVersion: fairlead/v1
kind: EtcdWatchConfig
interval: 1s
notify:
  url: https://localhost:8443/etcd?token=t0psecret
  secretFile: $PKI/webhook.secret
  caFile: $PKI/cluster-ca.crt
  timeout: 5s
  retryMax: 1s
rules:
  - {id: member-down, after: 2s, hold: 0s}"
# Nothing else may happen to be found on a machine that is slow.
for rule in $(sed -n 's/^| `\([a-z-]*\)` | [cw][a-z]* |.*/\1/p' "$(dirname "$0")/../../docs/etcd.md"); do
	[[ $rule == member-down ]] || EW_MORE+="
  - {id: $rule, off: true}"
done

answers() { # STATUS
	echo "$1" >"$T/hook/answer.new"
	mv "$T/hook/answer.new" "$T/hook/answer"
}

# jq's FILTER of all requests, or of those in FILE, as an array.
got() { # FILTER [FILE]
	jq -ers "$1" "${2:-$T/hook/requests}"
}

got_first() { # FILTER
	got "$1" "$T/first"
}

telling() { # FILTER
	fairlead n1 -o json etcd notify status | jq -er "$1"
}

n1_tests() {
	fairlead n1 etcd notify test >"$T/tested"
}

say "a webhook that is not there"
install -d -o nobody "$T/hook"
cluster_of_etcd
pki_issue hook cluster-ca hook DNS:localhost
echo "whsec_$(head -c 32 /dev/urandom | base64 -w 0)" >"$PKI/webhook.secret"
chmod 644 "$PKI/webhook.secret"
etcdwatch_start n1
kill_hard etcd-n3
wait_until 40 telling '.error and .queued >= 2 and .failed > 1 and .to == "https://localhost:8443"'
etcd_start n3
wait_until 60 log_says etcdwatch-n1 'event=finding_cleared finding=member-down subject="n3"'
expect "what is over takes the place of what was" telling '.superseded >= 1 and .queued >= 2'
! log_says etcdwatch-n1 t0psecret || fail "the whole URL is in the log"

say "it is there, and broken"
answers 503
spawn webhook n1 setpriv --reuid nobody --regid nogroup --clear-groups \
	"$(dirname "$0")/webhook" 8443 "$PKI/hook.crt" "$PKI/hook.key" "$PKI/webhook.secret" "$T/hook"
wait_until 30 got 'length >= 2 and all(.status == 503)'
! n1_tests || fail "a test seems to have arrived"

say "it is busy"
answers 429
wait_until 30 got 'any(.status == 429)'

say "it is well"
answers 204
wait_until 40 telling '.queued == 0 and .delivered >= 2 and .error == null'
wait_until 30 n1_tests
# The next comes while these are looked at.
cp "$T/hook/requests" "$T/first"
kill_hard etcd-n3
expect "it says so" grep -q '^delivered: status 204 ' "$T/tested"
expect "what arrived is what there was, in its order" got_first '
	[.[] | select(.status == 204 and (.body.data.subject // "n3") == "n3") | .body.type] ==
		["watchdog.started", "finding.cleared", "test"]'
expect "what a message says" got_first '
	[.[] | select(.status == 204 and .body.data.subject == "n3")][0] | .path == "/etcd?token=t0psecret" and (.body.data |
		.id == "member-down" and .severity == "warning" and .subject == "n3" and .node == "n1" and
		(.cluster_id | test("^[0-9a-f]+$")) and (.since | fromdate) <= now and
		(.sentence | startswith("n3 does not answer")) and (.to_do | length) > 0)'
expect "each attempt is signed" got_first 'all(.signed and ((.headers["webhook-timestamp"] | tonumber) - .at | fabs) < 60)'
expect "each attempt at a message has its id" got_first '
	[.[] | {id: .headers["webhook-id"], text}] | unique | length == ([.[].id] | unique | length)'

say "as the documentation verifies it"
got_first '.[-1].text' | head -c -1 >"$T/body"
id=$(got_first '.[-1].headers["webhook-id"]')
timestamp=$(got_first '.[-1].headers["webhook-timestamp"]')
key=$(sed 's/^whsec_//' "$PKI/webhook.secret" | base64 -d | od -An -v -tx1 | tr -d ' \n')
expect_equal "the signature by openssl" "v1,$({ printf '%s.%s.' "$id" "$timestamp"; cat "$T/body"; } |
	openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64)" \
	"$(got_first '.[-1].headers["webhook-signature"]')"

say "it is told at once, and what it refuses is not told again"
wait_until 40 got 'any(.body.type == "finding.raised" and .body.data.subject == "n3" and .status == 204)'
answers 400
etcd_start n3
wait_until 60 telling '.refused >= 1 and .queued == 0'
expect "it was told once" got '[.[] | select(.status == 400) | .headers["webhook-id"]] | length == (unique | length)'
fairlead n1 metrics etcdwatch >"$T/metrics"
expect "the metrics tell it" grep -q '^fairlead_etcdwatch_notify_messages_total{result="refused"} [1-9]' "$T/metrics"

say "what it was not told before etcdwatch is killed, and still holds, it is told by the next one"
answers 503
kill_hard etcd-n3
wait_until 40 got 'any(.status == 503 and .body.data.subject == "n3" and .body.type == "finding.raised")'
n_before=$(got length)
kill_hard etcdwatch-n1
answers 204
etcdwatch_start n1
wait_until 40 got ".[$n_before:] | any(.status == 204 and .body.type == \"finding.raised\")"
expect "first that it has begun, then what holds, and nothing of before" got ".[$n_before:] |
	[.[] | select(.status == 204) | .body | [.type, .data.subject]] ==
		[[\"watchdog.started\", null], [\"finding.raised\", \"n3\"]]"
