# SPDX-License-Identifier: Apache-2.0
# A record of random changes in etcd, and databases rebuilt from it. From the environment: SEED, by which
# the changes come again.

: "${SEED:=$RANDOM$RANDOM}"
echo "SEED=$SEED"
RECORD=$T/record
EW_SCHEDULE="@yearly"
# An elected taker writes into etcd, seconds later: a revision behind the last change.
EW_TAKER=every-node
EW_MORE="---
apiVersion: fairlead/v1
kind: EtcdWatchConfig
record: {directory: $RECORD, reserve: 1MiB}"

# With time for a machine that is busy.
ctl() {
	etcd_ctl --command-timeout 20s --dial-timeout 10s "$@"
}

# --- etcd, many questions by one program --------------------------------------------------------------

# Requests, one a line, PATH and JSON, to the API of n1 as the administrator.
requests() {
	jq -rR --arg host "https://$(mgmt_ip n1):2379" --arg pki "$PKI" --arg sink "$T/answers" '
		capture("(?<path>[^ ]+) (?<body>.*)") |
		"url = \($host + .path)\ncacert = \($pki)/etcd-trust.crt\ncert = \($pki)/client-admin.crt\n" +
		"key = \($pki)/client-admin.key\ndata = \(.body | tojson)\nfail\noutput = \($sink)\nmax-time = 20\n" +
		"retry = 10\nretry-delay = 1\nnext"' |
		sed '$d' >"$T/requests"
	inside sw curl --silent --show-error --fail-early --config "$T/requests" || fail "a request failed"
}

# Of 16807 x mod 2^31 - 1, which is exact in floating point. Not of $RANDOM: a subshell has one of its own.
random_requests() { # COUNT WHICH
	jq -nr --argjson seed "$(((SEED + 1000003 * $2) % 2147483646 + 1))" --argjson count "$1" '
		def b64: @base64;
		def key: "/k/\(. % 17)" | b64;
		def value: if . % 5 == 0 then "" else "v\(.)" * (1 + . % 90) | b64 end;
		def put($r): {key: ($r | key), value: (($r / 17 | floor) | value)} +
			if $r % 7 == 0 then {lease: (1701 + $r % 3 | tostring)} else {} end;
		def op($r): if $r % 3 == 0 then {requestDeleteRange: {key: ($r | key)}} else {requestPut: put($r)} end;
		def request($r; $kind):
			if $kind < 55 then "/v3/kv/put \(put($r))"
			elif $kind < 65 then "/v3/kv/deleterange \({key: ($r | key)})"
			elif $kind < 72 then "/v3/kv/deleterange \({key: ("/k/1" | b64), range_end: ("/k/2" | b64)})"
			else "/v3/kv/txn \({success: [range(1 + $r % 4) as $i | op($r + $i)]})" end;
		reduce range($count) as $i ({x: $seed, out: []};
			.x = .x * 16807 % 2147483647 | .x as $r |
			.x = .x * 16807 % 2147483647 | .x as $k |
			.out += [request($r; $k % 100)]) | .out[]'
}

revision() {
	ETCD_AT=n1 ctl endpoint status --write-out json | jq '.[0].Status.header.revision'
}

# What the member of n1 answers to HashKV: the hash and the compact revision.
hashkv() { # REVISION
	inside n1 curl --http1.1 --silent --show-error --fail --max-time 20 --retry 10 --retry-delay 1 --request GET \
		--data "{\"revision\":$1}" --cacert "$PKI/etcd-ca.crt" --cert "$PKI/peer-n1.crt" \
		--key "$PKI/peer-n1.key" "https://$(mgmt_ip n1):2380/members/hashkv" |
		jq -r '"\(.hash) \(.compact_revision)"'
}

# --- the record ---------------------------------------------------------------------------------------

worker() { # ARGUMENT...
	"$T/bin/etcdwatch-worker" "$@" | tail -n 1
}

rebuild() { # ARGUMENT...
	rm -f "$T/rebuilt.db" # one of another revision is not replaced
	worker rebuild --record "$RECORD" --output "$T/rebuilt.db" "$@"
}
