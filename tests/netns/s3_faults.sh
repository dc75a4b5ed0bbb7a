#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A server that fails, and a network that fails: what passes is overcome, what does not pass is said
# as it is, and nothing that is not whole is ever taken for it.
. "$(dirname "$0")/lib-s3.sh"

s3_up
make_file file $((12 * MIB + 345))
make_file two $((5 * MIB + 1)) # parts
make_file small 100000

# Puts a file in parts and gets it, while these faults happen to one request each; all of them are met,
# and it comes through all the same.
survives() { # FILE PARTS RULE...
	local file=$1 parts=$2
	shift 2
	s3_faults "$@"
	s3 put "$file" survives --part-size 5
	expect_ok put parts="$parts" sha256="${SHA256[$file]}"
	s3 get survives back --sha256 "${SHA256[$file]}"
	expect_ok get bytes="$(stat -c %s "$file")"
	cmp "$file" back
	expect_equal "faults that were met" "$(fault_count '^[A-Z]+ [^ ]+ [^-]')" $#
	ENDPOINT=http://127.0.0.1:$S3_PORT
	s3 list --uploads
	expect_ok leftovers uploads=0
	rm back
	s3 rm survives
}

say "errors of the server that pass, at every kind of request; also with status 200"
survives file 3 HEAD/survives/1/500 GET/uploads/1/503 POST/uploads/1/500 PUT/partNumber=1/1/500 \
	PUT/partNumber=2/1/503 PUT/partNumber=2/1/error200 PUT/partNumber=3/1/502 POST/uploadId/1/503 \
	POST/uploadId/1/error200 POST/uploadId/1/500 GET/survives/1/503

say "connections that are closed, cut in the middle, or stand still"
# A loaded machine is silent for a while, too, and a worker that looks after itself for longer.
stall_s=3
! sanitizers_are_on || stall_s=10
S3_OPTIONS=(--stall-timeout "$stall_s")
survives file 3 POST/uploads/1/close PUT/partNumber=1/1/close PUT/partNumber=2/1/cut-request=3000000 \
	PUT/partNumber=2/1/hang PUT/partNumber=3/1/cut-request=0 POST/uploadId/1/close GET/survives/1/close \
	GET/survives/1/cut-answer=7000000 GET/survives/1/cut-answer=1 GET/survives/1/cut-answer=0 \
	GET/survives/1/hang
S3_OPTIONS=()

say "an answer that is lost: the part is there, the upload is complete, and gone"
survives two 2 PUT/partNumber=2/1/lost POST/uploadId/1/lost
survives two 2 POST/uploadId/1/lost POST/uploadId/1/404

say "a server that knows no uploads in progress, or does not let us see them"
survives two 2 GET/uploads/1/403
survives two 2 GET/uploads/1/501

say "a server that does not let us see the parts of an upload: another one takes its place"
s3_faults PUT/partNumber=2/1/403
s3 put two unseen --part-size 5
expect_error "put" S3_DENIED
s3_faults GET/uploadId/1/403
s3 put two unseen --part-size 5
expect_ok "put" parts=2 parts_kept=0
ENDPOINT=http://127.0.0.1:$S3_PORT
s3 list --uploads
expect_ok "leftovers" uploads=0

say "what is damaged on its way there, the server notices; on its way back, we do"
survives two 2 PUT/partNumber=2/1/damage-request
s3_faults 'GET/damaged/1/damage-answer'
s3 put small damaged
expect_error "damaged on its way back" S3_MISMATCH "is removed"
s3 list damaged
expect_ok "it is removed" objects=0
s3_faults 'GET/damaged/1/damage-answer' 'DELETE/damaged/1/403'
s3 put small damaged
expect_error "damaged, and stays" S3_MISMATCH "cannot be removed"

say "a large object arrives over a connection that breaks again and again"
s3 put file large --part-size 20
s3_faults 'GET/large/7/cut-answer=1600000'
s3 get large back --sha256 "${SHA256[file]}"
expect_ok "get in eight pieces"
expect_equal "requests" "$(fault_count 'GET .*large')" 8
cmp file back
rm back

STALL=()
# Fails with that code, and says these words; the file has no object, and nothing that looks like one.
fails_with() { # WHAT RULE CODE TEXT...
	local what=$1 rule=$2 code=$3
	shift 3
	s3_faults "$rule"
	s3 put two "fails/$what" --part-size 5 --attempts 2 "${STALL[@]}"
	expect_error "$what" "$code" "$@"
	ENDPOINT=http://127.0.0.1:$S3_PORT
	s3 list fails/
	expect_ok "$what: no object" objects=0
}

say "errors that do not pass are told as they are, with the server's own words"
fails_with denied 'PUT/partNumber=2/9/403' S3_DENIED 403 AccessDenied "made by s3fault"
expect_equal "once" "$(fault_count 'partNumber=2')" 1
fails_with busy 'PUT/partNumber=1/9/503' S3_BUSY 503 SlowDown "tried 2 times"
fails_with server 'POST/uploadId/9/error200' S3_SERVER InternalError "tried 2 times"
fails_with broken 'PUT/partNumber=1/9/500' S3_SERVER 500 InternalError
STALL=(--stall-timeout 1)
fails_with silent '*/*/99/hang' S3_TIMEOUT "tried 2 times"
STALL=()
fails_with closed 'PUT/partNumber=1/9/close' S3_CUT "tried 2 times"
fails_with garbage 'PUT/partNumber=1/9/garbage' S3_PROTOCOL
# Two digests are wrong, and a store says which one it looked at first.
damaged=BadDigest
[[ ${FAIRLEAD_STORE:-} != versitygw ]] || damaged=XAmzContentSHA256Mismatch
fails_with damaged 'PUT/partNumber=1/9/damage-request' S3_REFUSED "$damaged"

say "an upload that cannot become an object is not gone on with"
s3 list fails/ --uploads
expect_ok "those that failed in passing are kept" uploads=6
fails_with invalid 'POST/uploadId/1/400' S3_REFUSED InvalidPart
s3 list fails/invalid --uploads
expect_ok "this one is not" uploads=0

say "an upload that somebody has aborted is no object, and what was there before stays"
fails_with gone 'POST/uploadId/1/404' S3_NOT_FOUND
s3 put small fails/older
s3_faults 'POST/uploadId/1/404'
s3 put two fails/older --part-size 5
expect_error "over an older one" S3_MISMATCH "is gone"
ENDPOINT=http://127.0.0.1:$S3_PORT
s3 get fails/older back --sha256 "${SHA256[small]}"
expect_ok "the older one"

say "nobody is there"
s3_down
s3 put small nobody --attempts 2
expect_error "no server" S3_UNREACHABLE "tried 2 times"
ENDPOINT=http://no-such-host.test
s3 put small nobody --attempts 2
expect_error "no such host" S3_UNREACHABLE no-such-host
