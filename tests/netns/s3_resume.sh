#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# limit: 120
# Transfers that are cut off by the death of the worker itself: the next one goes on where it was.
. "$(dirname "$0")/lib-s3.sh"

s3_up
make_file file $((32 * MIB)) 1
make_file changed $((32 * MIB)) 1
printf 'x' | dd of=changed bs=1 seek=$((12 * MIB)) conv=notrunc status=none
PARTS=7

# A put in the background, which is killed when its fourth part hangs.
cut_off() { # FILE KEY
	s3_faults 'PUT/partNumber=4/1/hang'
	"$WORKER" s3 put "$1" "$2" --part-size 5 --endpoint "$ENDPOINT" --bucket bucket \
		>"$LOG_DIR/cut.log" 2>&1 &
	PID[put]=$!
	wait_until 20 log_says fault 'partNumber=4.* hang'
}

say "killed in the middle of the fourth part, the worker leaves no object"
cut_off file one
kill_hard put
ENDPOINT=http://127.0.0.1:$S3_PORT
s3 list one
expect_ok "no object" objects=0
s3 list one --uploads
expect_ok "an upload" uploads=1

say "the next one sends only what is missing"
s3_faults
s3 put file one --part-size 5
expect_ok "put" parts=$PARTS parts_kept=3 sha256="$(sha256 file)"
expect_equal "parts sent" "$(fault_count 'PUT .*partNumber')" $((PARTS - 3))
s3 list --uploads
expect_ok "nothing is left" uploads=0

say "parts of a file that has changed are not kept"
cut_off file two
kill_hard put
s3_faults
s3 put changed two --part-size 5
expect_ok "put" parts=$PARTS parts_kept=2 sha256="$(sha256 changed)"
s3 get two back --sha256 "$(sha256 changed)"
expect_ok "get"
rm back

say "of several that were cut off, the youngest is gone on with, and the others are aborted"
cut_off file three
kill_hard put
# A second one: a list that fails lets it begin anew.
s3_faults 'GET/uploads/1/403' 'PUT/partNumber=2/1/403'
s3 put file three --part-size 5
expect_error "the second" S3_DENIED
s3 list three --uploads
expect_ok "two" uploads=2
s3_faults
s3 put file three --part-size 5
expect_ok "the third" parts=$PARTS
s3 list three --uploads
expect_ok "none" uploads=0

say "an upload of a longer key is not touched"
cut_off file three-more
kill_hard put
s3_faults
s3 put changed three --part-size 5
expect_ok "put"
s3 list three --uploads
expect_ok "the other's" uploads=1
s3 rm three-more --uploads
expect_ok "rm" uploads=1

say "told to end, the worker ends at once and says so"
cut_off file four
signal TERM put
wait_exit 5 put
expect_equal "exit code" "$EXIT_CODE" 1
expect_equal "its last line" "$(tail -n 1 "$LOG_DIR/cut.log" | jq -r .error)" CANCELLED

say "killed before it could tell, the worker stores nothing twice"
s3_faults
s3 put file five --part-size 5
s3_faults
s3 put file five --part-size 5
expect_ok "again" was_there=true
expect_equal "requests that write" "$(fault_count '^(PUT|POST)')" 0

say "a get that was cut off goes on where it was"
s3_faults 'GET/one/1/cut-answer=20000000' 'GET/one/1/hang'
"$WORKER" s3 get one back --sha256 "$(sha256 file)" --endpoint "$ENDPOINT" --bucket bucket \
	>"$LOG_DIR/cut.log" 2>&1 &
PID[get]=$!
wait_until 20 log_says fault 'one hang'
kill_hard get
expect "no file that looks whole" test ! -e back
# A reset drops what was not read yet.
kept=$(stat -c %s .back.new)
expect "nearly all that was sent is there" test "$kept" -gt 15000000 -a "$kept" -le 20000000
s3_faults
s3 get one back --sha256 "$(sha256 file)"
expect_ok "get" bytes=$((32 * MIB)) bytes_kept="$kept" sha256="$(sha256 file)"
cmp file back
rm back

say "what was left of another object is not believed"
cp changed .back.new
truncate -s 20000000 .back.new
s3 get one back --sha256 "$(sha256 file)"
expect_ok "get" bytes_kept=0
cmp file back
rm back
cp file .back.new
printf 'more' >>.back.new
s3 get one back --sha256 "$(sha256 file)"
expect_ok "get of a shorter one" bytes_kept=0
rm back
cp file .back.new
s3 get one back --sha256 "$(sha256 file)"
expect_ok "all was there already" bytes_kept=$((32 * MIB))
rm back
cp file .back.new
truncate -s 20000000 .back.new
s3 get one back
expect_ok "without a digest nothing is kept" bytes_kept=0
expect_equal "files" "$(ls -A)" $'back\nchanged\nfile'
