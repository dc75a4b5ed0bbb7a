#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A store over TLS with a private authority: everything that a target asks of it; what it says of
# encryption; and, of moto, keys by a role and by a web identity.
. "$(dirname "$0")/../netns/lib-s3.sh"

mkdir -p "$T/work"
cd "$T/work"
pki_authority s3-ca
pki_authority other-ca
pki_issue s3 s3-ca s3.test DNS:s3.test
printf '127.0.0.1 localhost s3.test\n' >"$T/hosts"
mount --bind "$T/hosts" /etc/hosts
"$S3_SERVER" --tls "$PKI/s3.crt" "$PKI/s3.key" "$LOG_DIR/store" "$S3_PORT" bucket >"$LOG_DIR/s3.log" 2>&1 &
PID[s3]=$!
wait_until 60 log_says s3 '^ready$'
ENDPOINT=https://s3.test:$S3_PORT
S3_OPTIONS=(--ca-file "$PKI/s3-ca.crt")

say "the bucket is there, and can be written to; by its own authority alone"
s3 check --write probe/x
expect_ok "check" written=true
S3_OPTIONS=(--ca-file "$PKI/other-ca.crt" --attempts 1)
s3 check
expect_error "another authority" S3_TLS certificate
S3_OPTIONS=(--ca-file "$PKI/s3-ca.crt")
if [[ $FAIRLEAD_STORE != moto ]]; then
	AWS_SECRET_ACCESS_KEY=wrong s3 check
	expect_error "another secret" S3_DENIED
fi

say "files of every size come back as they were, and are not sent again"
for bytes in 0 1 $((5 * MIB)) $((10 * MIB + 1)); do
	make_file file "$bytes"
	s3 put file "sizes/$bytes" --part-size 5 --sha256 "${SHA256[file]}"
	expect_ok "put of $bytes bytes" bytes="$bytes" sha256="${SHA256[file]}" \
		parts=$((bytes > 5 * MIB ? (bytes + 5 * MIB - 1) / (5 * MIB) : 0)) was_there=false
	s3 put file "sizes/$bytes" --part-size 5
	expect_ok "again" was_there=true
	s3 get "sizes/$bytes" back --sha256 "${SHA256[file]}"
	expect_ok "get of $bytes bytes" bytes="$bytes"
	cmp file back || fail "$bytes bytes came back as others"
	rm back
done

say "lists, with what is in small objects; removing"
echo '{"id": "one"}' >entry
s3 put entry 'catalog/a b+c.json'
s3 list catalog/ --read '*.json'
expect_ok "list" objects=1
expect_equal "contents" "$(jq -c 'select(.key) | [.key, .content]' <<<"$OUT")" '["catalog/a b+c.json",{"id":"one"}]'
s3 rm 'catalog/a b+c.json' catalog/none
expect_ok "rm" objects=2
s3 list catalog/
expect_ok "list of nothing" objects=0
s3 get catalog/none back
expect_error "get of nothing" S3_NOT_FOUND

say "an upload that is killed in the middle is gone on with; what is left is swept"
make_file large $((60 * MIB))
mkfifo lines
"$WORKER" s3 put large resumed --part-size 5 --endpoint "$ENDPOINT" --bucket bucket "${S3_OPTIONS[@]}" \
	>lines 2>>"$LOG_DIR/worker.log" &
PID[put]=$!
while read -r line; do
	[[ $line =~ \"bytes\":([0-9]+) ]] || continue
	[[ ${BASH_REMATCH[1]} -lt $((20 * MIB)) ]] || break
done <lines
kill_hard put
s3 list --uploads
expect_ok "it is under way" uploads=1
s3 put large resumed --part-size 5 --sha256 "${SHA256[large]}"
expect_ok "gone on with" parts=12 sha256="${SHA256[large]}"
field parts_kept
# moto's list of parts is not S3's (ListPartsResponse): there the upload begins anew.
[[ $FIELD -ge 2 || $FAIRLEAD_STORE == moto ]] || fail "only $FIELD parts were kept"
s3 list --uploads
expect_ok "nothing is left" uploads=0
s3 sweep "" --older-than 0
expect_ok "sweep" aborted=0

say "encryption by the store: it says so, or the upload has failed"
openssl rand -base64 32 >customer.key
for options in "--kms-key alias/etcd" "--customer-key-file customer.key"; do
	for key in "small" "parts"; do
		[[ $key == small ]] && name=file || name=large
		# shellcheck disable=SC2086
		s3 put "$name" "encrypted/${options%% *}/$key" --part-size 16 $options
		field ok
		echo "  $options, $key: $LAST" >>"$LOG_DIR/encryption.log"
		[[ $FIELD == true || $LAST == *"does not confirm the encryption"* || $LAST == *S3_REFUSED* ]] ||
			fail "$options: $LAST"
		[[ $FIELD == true ]] || continue
		# shellcheck disable=SC2086
		s3 get "encrypted/${options%% *}/$key" back --sha256 "${SHA256[$name]}" $options
		expect_ok "get"
		rm back
	done
done
[[ $FAIRLEAD_STORE != moto ]] || grep -q 'kms-key.*"ok":true' "$LOG_DIR/encryption.log" || fail "moto does KMS"

[[ $FAIRLEAD_STORE == moto ]] || exit 0
say "keys by the role of an instance, and by a web identity"
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
echo "header.payload.signature" >jwt
s3 check --write probe/sts --credentials "{\"webIdentity\": {\"roleARN\": \"arn:aws:iam::123456789012:role/etcd\",
	\"tokenFile\": \"$PWD/jwt\", \"sessionName\": \"fairlead\", \"endpoint\": \"$ENDPOINT\"}}"
expect_ok "web identity" written=true
"$("$ROOT/tests/stores/get")/moto_server" -H 127.0.0.1 -p 8080 >"$LOG_DIR/metadata.log" 2>&1 &
PID[metadata]=$!
wait_until 30 curl -so /dev/null http://127.0.0.1:8080/
AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1:8080 s3 check --write probe/role \
	--credentials '{"instanceRole": true}'
expect_ok "role of the instance" written=true
