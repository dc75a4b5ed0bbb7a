#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Transfers that are cut off by the death of the worker itself: the next one goes on where it was.
. "$(dirname "$0")/lib-s3.sh"

s3_up
make_file file $((17 * MIB)) 1
make_file changed $((17 * MIB)) 1
printf 'x' | dd of=changed bs=1 seek=$((7 * MIB)) conv=notrunc status=none
SHA256[changed]=$(sha256 changed)
PARTS=4

# A put in the background, which waits for the answer to this part. PEAK is the memory that it has
# taken by then, in kB.
begin_put() { # FILE KEY PART
	s3_faults "PUT/partNumber=$3/1/hang"
	"$WORKER" s3 put "$1" "$2" --part-size 5 --endpoint "$ENDPOINT" --bucket bucket \
		>"$LOG_DIR/cut.log" 2>&1 &
	PID[put]=$!
	wait_until 20 log_says fault "partNumber=$3.* hang"
	PEAK=$(sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/${PID[put]}/status")
}

# One that is killed when two parts are there. From then on nothing is in the way, and all requests
# are seen.
cut_off() { # FILE KEY
	begin_put "$@" 3
	kill_hard put
	s3_faults
}

say "told to end, the worker ends at once and says so"
begin_put file zero 1
peak=$PEAK
signal TERM put
wait_exit 5 put
expect_equal "exit code" "$EXIT_CODE" 1
expect_equal "its last line" "$(tail -n 1 "$LOG_DIR/cut.log" | jq -r .error)" CANCELLED
ENDPOINT=http://127.0.0.1:$S3_PORT
s3 rm zero --uploads
expect_ok "rm" uploads=1

say "killed in the middle of the third part, the worker leaves no object"
cut_off file one
s3 list one
expect_ok "no object" objects=0
s3 list one --uploads
expect_ok "an upload" uploads=1

say "what it sent meanwhile, it did not keep in memory"
expect "$peak kB, then $PEAK kB" test "$PEAK" -lt $((peak + 3000))

say "the next one sends only what is missing"
s3_faults
s3 put file one --part-size 5
expect_ok "put" parts=$PARTS parts_kept=2 sha256="${SHA256[file]}"
expect_equal "parts sent" "$(fault_count 'PUT .*partNumber')" 2
expect_equal "finished parts sent again" "$(fault_count 'PUT .*partNumber=[12]&')" 0
s3 list --uploads
expect_ok "nothing is left" uploads=0

say "one that takes its time says how far it is"
begin_put file told 2
for_seconds 1 alive put
s3_faults
wait_exit 30 put
expect_equal "exit code" "$EXIT_CODE" 0
grep -Eq '^\{"doing":"send","bytes":[0-9]+,"of_bytes":[0-9]+\}$' "$LOG_DIR/cut.log" || fail "not a word"

say "what is there already is not sent again"
s3_faults
s3 put file one --part-size 5
expect_ok "again" was_there=true
expect_equal "requests that write" "$(fault_count '^(PUT|POST)')" 0

say "parts of a file that has changed are not kept"
cut_off file two
s3 put changed two --part-size 5
expect_ok "put" parts=$PARTS parts_kept=1 sha256="${SHA256[changed]}"
s3 get two back --sha256 "${SHA256[changed]}"
expect_ok "get"
rm back

say "of several that were cut off, the youngest is gone on with; another key's is not touched"
cut_off file three
cut_off file three-more
# A second one: a list that fails lets it begin anew. The server tells by whole seconds which is younger.
nap 1.1
s3_faults 'GET/uploads/1/403' 'PUT/partNumber=2/1/403'
s3 put file three --part-size 5
expect_error "the second" S3_DENIED
s3 list three --uploads
expect_ok "two, and the other's" uploads=3
s3_faults
s3 put file three --part-size 5
expect_ok "the third" parts=$PARTS parts_kept=1
s3 list three --uploads
expect_ok "the other's" uploads=1
s3 rm three-more --uploads
expect_ok "rm" uploads=1

say "a get that was cut off goes on where it was"
s3_faults 'GET/one/1/cut-answer=10000000' 'GET/one/1/hang'
"$WORKER" s3 get one back --sha256 "${SHA256[file]}" --endpoint "$ENDPOINT" --bucket bucket \
	>"$LOG_DIR/cut.log" 2>&1 &
PID[get]=$!
wait_until 20 log_says fault 'one hang'
kill_hard get
expect "no file that looks whole" test ! -e back
expect_equal "what was sent is there" "$(stat -c %s .back.new)" 10000000
s3_faults
s3 get one back --sha256 "${SHA256[file]}"
expect_ok "get" bytes=$((17 * MIB)) bytes_kept=10000000 sha256="${SHA256[file]}"
cmp file back
rm back

# What a download that was cut off leaves is nobody's but its own.
leave() { # COMMAND...: writes it
	(umask 077 && rm -f .back.new && "$@" >.back.new)
}

say "what was left of another object is not believed"
leave head -c 10000000 changed
s3 get one back --sha256 "${SHA256[file]}"
expect_ok "get" bytes_kept=0
cmp file back
rm back
leave cat file file
s3 get one back --sha256 "${SHA256[file]}"
expect_ok "get of a shorter one" bytes_kept=0
rm back
leave cat file
s3 get one back --sha256 "${SHA256[file]}"
expect_ok "all was there already" bytes_kept=$((17 * MIB))
rm back
leave head -c 10000000 file
s3 get one back
expect_ok "without a digest nothing is kept" bytes_kept=0
rm back

say "nor is what others can read or write"
leave head -c 10000000 file
chmod 644 .back.new
s3 get one back --sha256 "${SHA256[file]}"
expect_ok "get" bytes_kept=0
cmp file back
expect_equal "mode" "$(stat -c %a back)" 600
expect_equal "files" "$(ls -A)" $'back\nchanged\nfile'
