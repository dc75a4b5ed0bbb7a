#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The server says no, for reasons that an operator has to know: the clock, the credentials, the region,
# the bucket. Each is told as what it is.
. "$(dirname "$0")/lib-s3.sh"

# The region is part of what is signed; the default one is not this server's.
S3_SERVER_OPTIONS=(--region eu-test-2)
S3_OPTIONS=(--region eu-test-2)
s3_up

# With this machine's clock wrong by so much.
check_at() { # OFFSET
	CODE=0
	LAST=$(faketime -f "$1" "$WORKER" s3 check --endpoint "$ENDPOINT" --bucket bucket \
		"${S3_OPTIONS[@]}" 2>&1) || CODE=$?
}

say "a clock that is wrong by more than 15 minutes"
check_at -20m
expect_error "behind" S3_CLOCK "clock is 20 min" "behind the server's" RequestTimeTooSkewed
check_at +2d
expect_error "ahead" S3_CLOCK "clock is 2880 min" "ahead of the server's"

say "a clock that is wrong by less is told, and does no harm"
check_at -3m
expect_ok "behind"
field clock_ahead_s
expect "by three minutes" test "$FIELD" -ge -182 -a "$FIELD" -le -178

say "the wrong secret"
AWS_SECRET_ACCESS_KEY=wrong s3 check
expect_error "check" S3_DENIED 403 SignatureDoesNotMatch
echo x >file
AWS_SECRET_ACCESS_KEY=wrong s3 put file key
expect_error "put" S3_DENIED SignatureDoesNotMatch
AWS_SECRET_ACCESS_KEY=wrong s3 get key back
expect_error "get" S3_DENIED
AWS_SECRET_ACCESS_KEY=wrong s3 rm key
expect_error "rm" S3_DENIED SignatureDoesNotMatch
expect_equal "files" "$(ls -A)" file

say "an unknown key, another region, a bucket that is not there"
AWS_ACCESS_KEY_ID=nobody s3 check
expect_error "key" S3_DENIED 403
S3_OPTIONS=()
s3 check
expect_error "region" S3_REFUSED AuthorizationHeaderMalformed "expecting 'eu-test-2'"
S3_OPTIONS=(--region eu-test-2)
BUCKET=nix s3 check
expect_error "bucket" S3_NOT_FOUND NoSuchBucket
BUCKET=nix s3 put file key
expect_error "bucket" S3_NOT_FOUND NoSuchBucket
BUCKET=nix s3 rm key
expect_error "bucket" S3_NOT_FOUND NoSuchBucket

say "what cannot be meant"
ENDPOINT=ftp://127.0.0.1 s3 check
expect_error "scheme" USAGE "https://HOST"
ENDPOINT=http://127.0.0.1:$S3_PORT/path s3 check
expect_error "path" USAGE "https://HOST"
BUCKET=a/b s3 check
expect_error "bucket" USAGE bucket
AWS_SECRET_ACCESS_KEY=$'a\nb' s3 check
expect_error "secret" USAGE "secret key"
s3 put file
expect_error "words" USAGE "2 to 2"
s3 check --secret-key=oops
expect_error "option" USAGE "no such option: '--secret-key'"
s3 put file key --part-size 4
expect_error "part size" USAGE "5 to 5120"

say "secrets are nowhere in what is printed or logged"
if grep -rE 'testing|a-token' "$LOG_DIR"/*.log; then
	fail "there they are"
fi
