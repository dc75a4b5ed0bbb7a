#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is stored comes back: files of every size, keys with odd characters, lists in pages, both ways
# of naming a bucket, TLS with an authority of one's own, a session token; and a snapshot that is
# packed, encrypted, stored, fetched and unpacked.
. "$(dirname "$0")/lib-s3.sh"

S3_SERVER_OPTIONS=(--domain s3.test --page 3)
mkdir -p "$T"
printf '127.0.0.1 localhost s3.test bucket.s3.test\n' >"$T/hosts"
mount --bind "$T/hosts" /etc/hosts
s3_up

say "the bucket is there, and can be written to"
s3 check --write probe/x
expect_ok "check" written=true
field clock_ahead_s
# The server tells whole seconds.
expect "the same clock" test "$FIELD" -ge -2 -a "$FIELD" -le 1

say "files of every size come back as they were"
for bytes in 0 1 $((5 * MIB)) $((10 * MIB + 1)) $((5 * MIB + 1)); do
	make_file "file" "$bytes"
	s3 put file "sizes/$bytes" --part-size 5 --sha256 "${SHA256[file]}"
	expect_ok "put of $bytes bytes" bytes="$bytes" sha256="${SHA256[file]}" \
		parts=$((bytes > 5 * MIB ? (bytes + 5 * MIB - 1) / (5 * MIB) : 0)) was_there=false
	s3 get "sizes/$bytes" back --sha256 "${SHA256[file]}"
	expect_ok "get of $bytes bytes" bytes="$bytes" sha256="${SHA256[file]}"
	cmp file back || fail "$bytes bytes came back as others"
	rm back
done

say "what is there already is not sent again, and what is another file is"
s3 put file "sizes/$bytes"
expect_ok "again" was_there=true parts=0
make_file other "$bytes" 2
s3 put other "sizes/$bytes"
expect_ok "another of the same size" was_there=false sha256="${SHA256[other]}"
s3 get "sizes/$bytes" back
cmp other back || fail "the old object is still there"
rm back

say "nothing that is there is overwritten, and what is wrong has no name"
echo mine >back
s3 get "sizes/1" back
expect_error "get onto a file" EXISTS back
expect_equal "the file" "$(cat back)" mine
rm back
s3 get "sizes/1" back --sha256 00
expect_error "get of something else" MISMATCH "should be 00"
s3 get "sizes/nix" back
expect_error "get of nothing" S3_NOT_FOUND sizes/nix
s3 put file key --sha256 00
expect_error "put of something else" MISMATCH
s3 put file "sizes/wrong" --part-size 5 --sha256 00
expect_error "put of something else in parts" MISMATCH
s3 list --uploads
expect_ok "nothing is left of it" uploads=0
expect_equal "files" "$(ls -A)" $'file\nother'

say "keys with odd characters are signed, listed and removed"
keys=('odd/a b' 'odd/a+b' 'odd/a%20b' 'odd/a&b=c?d#e' 'odd/ä€' "odd/q'\"<>" 'odd/../up' 'odd//two' 'odd/~-_.!*()')
for key in "${keys[@]}"; do
	s3 put other "$key"
	expect_ok "put of '$key'"
done
s3 list odd/
expect_ok "list" objects=${#keys[@]}
expect_equal "the keys" "$(jq -r 'select(.key) | .key' <<<"$OUT" | LC_ALL=C sort)" \
	"$(printf '%s\n' "${keys[@]}" | LC_ALL=C sort)"
s3 rm "${keys[@]}"
expect_ok "rm" objects=${#keys[@]}
s3 list odd/
expect_ok "list of nothing" objects=0
s3 rm "${keys[@]}"
expect_ok "rm of nothing"

say "lists longer than a page are whole"
s3 list
expect_ok "list of all" objects=5
for i in 1 2 3 4 5; do
	# One that is stopped in the middle leaves an upload behind.
	s3_faults "PUT/partNumber=1/1/403"
	s3 put file "left/$i" --part-size 5
	expect_error "put" S3_DENIED AccessDenied
done
s3 list --uploads
expect_ok "uploads under way" uploads=5
s3 list left/3 --uploads
expect_ok "of one key" uploads=1
s3 rm left/1 left/2 --uploads
expect_ok "rm of uploads" uploads=2
s3 sweep left/ --older-than 1
expect_ok "sweep of old ones" aborted=0 kept=3
s3 sweep left/
expect_ok "sweep" aborted=0 kept=3
s3 sweep left/ --older-than 0
expect_ok "sweep of all" aborted=3 kept=0
s3 list --uploads
expect_ok "none is left" uploads=0
ENDPOINT=http://127.0.0.1:$S3_PORT

say "what is in small objects comes with the list of them"
echo '{"id": "one"}' >entry
head -c 70000 /dev/zero | tr '\0' 1 >long
echo '{"id"' >broken
for name in entry long broken; do
	s3 put "$name" "catalog/$name.json"
	expect_ok "put"
done
s3 put entry catalog/entry.db
s3 list catalog/ --read '*.json'
expect_ok "list" objects=4
expect_equal "contents" "$(jq -c 'select(.key) | [.key[8:], .content, .reason]' <<<"$OUT" | sort)" \
	'["broken.json",null,"it is not JSON"]
["entry.db",null,null]
["entry.json",{"id":"one"},null]
["long.json",null,"it is too long"]'
s3 list catalog/ --read 'entry.*'
expect_equal "contents" "$(jq -c 'select(.content) | [.key[8:], .content, .reason]' <<<"$OUT" | sort)" \
	'["entry.db",{"id":"one"},null]
["entry.json",{"id":"one"},null]'
rm entry long broken

say "a bucket by its host name"
ENDPOINT=http://s3.test:$S3_PORT
S3_OPTIONS=(--virtual-host)
s3 put file host/one --part-size 5
expect_ok "put" parts=2
S3_OPTIONS=()
ENDPOINT=http://127.0.0.1:$S3_PORT
s3 get host/one back --sha256 "${SHA256[file]}"
expect_ok "get by the path"
rm back

say "a session token is part of the signature"
export AWS_SESSION_TOKEN=a-token/with+characters==
s3 check --write probe/token
expect_ok "check with a token"
unset AWS_SESSION_TOKEN

say "credentials from files"
printf 'test:tester\n' >access
printf 'testing\n' >secret
(
	unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
	s3 check --access-key-file access --secret-key-file secret
	expect_ok "check"
	s3 check
	expect_error "without any" USAGE "no access key"
	s3 check --access-key-file access --secret-key-file nix
	expect_error "without the file" NOT_FOUND nix
	s3 check --access-key-file access
	expect_error "without the other" USAGE "go together"
	printf '[other]\naws_access_key_id=x\n[default]\naws_access_key_id = test:tester\n' >aws
	s3 check --credentials-file aws
	expect_error "without the secret" CREDENTIALS "'aws' has no aws_secret_access_key"
	echo testing >>aws
	s3 check --credentials-file aws
	expect_error "not what it should be" CREDENTIALS "line 5 of 'aws'"
	sed -i 's/^testing/aws_secret_access_key = &/' aws
	s3 check --credentials-file aws
	expect_ok "check"
	s3 check --credentials-file aws --access-key-file access
	expect_error "both" USAGE "in place of"
	AWS_ACCESS_KEY_ID=nobody AWS_SECRET_ACCESS_KEY=x AWS_SESSION_TOKEN=x s3 check --credentials-file aws
	expect_ok "the file counts"
)
rm access secret aws

say "credentials from a program"
cat >keys.json <<-JSON
	{"Version": 1, "AccessKeyId": "test:tester", "SecretAccessKey": "testing",
	 "Expiration": "$(date -u -d '+1 minute' +%Y-%m-%dT%H:%M:%SZ)"}
JSON
printf '#!/bin/sh\necho asked >>%s/asked\nexec cat %s/keys.json\n' "$PWD" "$PWD" >keys
chmod +x keys
(
	unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
	s3 check --write probe/keys --credentials "{\"process\": [\"$PWD/keys\"]}"
	expect_ok "check"
	# They expire soon: others are fetched at once, and then not with each request.
	expect_equal "how often it was asked" "$(wc -l <asked)" 2
	s3 check --credentials "{\"process\": [\"$PWD/nix\"]}"
	expect_error "no program" CREDENTIALS "/nix'"
	s3 check --credentials '{"process": []}'
	expect_error "no words" USAGE "--credentials takes JSON"
	s3 check --credentials "{\"process\": [\"$PWD/keys\"]}" --credentials-file aws
	expect_error "both" USAGE "in place of"
)
rm keys keys.json asked

say "TLS: only with the authority that signed the server's certificate"
pki_authority s3-ca
pki_authority other-ca
pki_issue s3 s3-ca s3.test DNS:s3.test,DNS:bucket.s3.test
pki_issue far s3-ca far.test DNS:far.test
mkdir -p "$T/nginx"
cat >"$T/nginx/nginx.conf" <<-CONF
	daemon off; user root; worker_processes 1; pid $T/nginx/pid; error_log stderr warn;
	events { worker_connections 64; }
	http {
		access_log off; client_max_body_size 0;
		client_body_temp_path $T/nginx/1; proxy_temp_path $T/nginx/2;
		fastcgi_temp_path $T/nginx/3; uwsgi_temp_path $T/nginx/4; scgi_temp_path $T/nginx/5;
		server {
			listen 127.0.0.1:8443 ssl;
			ssl_certificate $PKI/s3.crt; ssl_certificate_key $PKI/s3.key;
			location / { proxy_pass http://127.0.0.1:$S3_PORT; proxy_set_header Host \$http_host; }
		}
		server {
			listen 127.0.0.1:8444 ssl;
			ssl_certificate $PKI/far.crt; ssl_certificate_key $PKI/far.key;
			location / { proxy_pass http://127.0.0.1:$S3_PORT; proxy_set_header Host \$http_host; }
		}
	}
CONF
nginx -p "$T/nginx" -e stderr -c "$T/nginx/nginx.conf" >"$LOG_DIR/nginx.log" 2>&1 &
PID[nginx]=$!
wait_until 5 openssl s_client -connect 127.0.0.1:8443 -brief </dev/null
ENDPOINT=https://s3.test:8443
S3_OPTIONS=(--ca-file "$PKI/s3-ca.crt")
s3 put file tls/one --part-size 5
expect_ok "put" parts=2
S3_OPTIONS=(--ca-file "$PKI/s3-ca.crt" --virtual-host)
s3 get tls/one back --sha256 "${SHA256[file]}"
expect_ok "get, the bucket by its host name"
rm back
S3_OPTIONS=(--ca-file "$PKI/other-ca.crt")
s3 check
expect_error "another authority" S3_TLS certificate
S3_OPTIONS=()
s3 check
expect_error "the system's authorities" S3_TLS certificate
S3_OPTIONS=(--ca-file "$T/nix")
s3 check
expect_error "no such file" S3_TLS "$T/nix"
ENDPOINT=https://127.0.0.1:8443
S3_OPTIONS=(--ca-file "$PKI/s3-ca.crt")
s3 check
expect_error "another name" S3_TLS
S3_OPTIONS=()
ENDPOINT=http://127.0.0.1:$S3_PORT

say "through a proxy, which alone knows the host's address; and where it does not lead there"
"$ROOT/tests/s3/proxy" 3128 far.test=127.0.0.1 >"$LOG_DIR/proxy.log" 2>&1 &
PID[proxy]=$!
wait_until 5 log_says proxy '^ready$'
ENDPOINT=https://far.test:8444
S3_OPTIONS=(--ca-file "$PKI/s3-ca.crt" --proxy http://127.0.0.1:3128)
s3 put file tls/proxied --part-size 5
expect_ok "put" parts=2
S3_OPTIONS=(--ca-file "$PKI/s3-ca.crt" --attempts 1)
s3 check
expect_error "without the proxy" S3_UNREACHABLE far.test
ENDPOINT=https://elsewhere.test:8444
S3_OPTIONS=(--ca-file "$PKI/s3-ca.crt" --proxy http://127.0.0.1:3128 --attempts 1)
s3 check
expect_error "a host that the proxy refuses" S3_CUT 403
log_says proxy '^CONNECT far.test:8444 ' || fail "the proxy was not asked"

say "a server that does not know of encryption is not taken for one that encrypts"
openssl rand -base64 32 >customer.key
ENDPOINT=https://far.test:8444
S3_OPTIONS=(--ca-file "$PKI/s3-ca.crt" --proxy http://127.0.0.1:3128)
s3 put file tls/encrypted --customer-key-file customer.key
expect_error "with our key" S3_REFUSED
s3 put file tls/encrypted --kms-key alias/etcd
expect_error "with its own" S3_REFUSED
s3 put file tls/encrypted --kms-key alias/etcd --customer-key-file customer.key
expect_error "with both" USAGE "not with both"
head -c 31 customer.key >short.key
s3 put file tls/encrypted --customer-key-file short.key
expect_error "no key" CREDENTIALS "'short.key' is not a key of 32 bytes in base64"
ENDPOINT=http://127.0.0.1:$S3_PORT
S3_OPTIONS=(--customer-key-file customer.key)
s3 check
expect_error "in clear" USAGE "is not https"
rm customer.key short.key
S3_OPTIONS=()

say "a snapshot, packed for two, goes there and comes back to one of them"
age-keygen -o one 2>/dev/null
age-keygen -o two 2>/dev/null
mkdir -p pki/etcd
echo cert >pki/ca.crt
echo key >pki/etcd/ca.key
chmod 600 pki/etcd/ca.key
make_file x.db $((7 * MIB))
before=${SHA256[x.db]}
worker pack x.db --level 3 --recipient "$(age-keygen -y one)" --recipient "$(age-keygen -y two)" \
	--extra "$PWD/pki" --sha256 "$before"
expect_ok "pack" plain_sha256="$before" plain_removed=true file=x.db.tar.zst.age
field file_sha256
packed=$FIELD
s3 put x.db.tar.zst.age snapshots/x.db.tar.zst.age --part-size 5 --sha256 "$packed"
expect_ok "put" sha256="$packed"
rm x.db.tar.zst.age
s3 get snapshots/x.db.tar.zst.age y.tar.zst.age --sha256 "$packed"
expect_ok "get"
worker unpack y.tar.zst.age --to y.db --identity two --extra-to extra --sha256 "$packed" \
	--plain-sha256 "$before"
expect_ok "unpack" plain_sha256="$before"
cmp "extra$PWD/pki/etcd/ca.key" pki/etcd/ca.key
expect_equal "its mode" "$(stat -c %a "extra$PWD/pki/etcd/ca.key")" 600
