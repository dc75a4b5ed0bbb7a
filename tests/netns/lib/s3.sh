# SPDX-License-Identifier: Apache-2.0
# A real S3-compatible server (tests/s3/server) on port 8000 of loopback, with the buckets `bucket` and
# `other`; before it, when a story asks for faults, tests/tools/s3fault on port 7000. The story works
# in $T/work. What a story may set:
#   S3_SERVER_OPTIONS  of tests/s3/server
#   S3_OPTIONS         of each run of the worker, besides endpoint and bucket

S3_SERVER_OPTIONS=()
S3_OPTIONS=()
S3_PORT=8000
FAULT_PORT=7000
ENDPOINT=http://127.0.0.1:$S3_PORT
FIELD= # what field() found
declare -gA SHA256=()
OUT= # what the last run of the worker printed; LAST is its last line

export AWS_ACCESS_KEY_ID=test:tester AWS_SECRET_ACCESS_KEY=testing

# Its objects have extended attributes, which file systems in memory lack before Linux 6.6.
s3_directory() {
	if python3 -c 'import os, sys; os.setxattr(sys.argv[1], "user.x", b"y")' "$T" 2>/dev/null; then
		echo "$T/swift"
	else
		echo "$LOG_DIR/swift"
	fi
}

s3_up() {
	mkdir -p "$T/work"
	cd "$T/work"
	"${S3_SERVER:-$ROOT/tests/s3/server}" "${S3_SERVER_OPTIONS[@]}" "$(s3_directory)" "$S3_PORT" bucket other \
		>"$LOG_DIR/s3.log" 2>&1 &
	PID[s3]=$!
	wait_until 30 log_says s3 '^ready$'
}

s3_down() {
	kill_hard s3
}

# From now on requests go through s3fault, with these rules.
s3_faults() { # RULE...
	kill_hard fault
	: >"$LOG_DIR/fault.log" # or the old one's "ready" is seen
	"$TOOLS/s3fault" "$FAULT_PORT" "$S3_PORT" "$@" >"$LOG_DIR/fault.log" 2>&1 &
	PID[fault]=$!
	ENDPOINT=http://127.0.0.1:$FAULT_PORT
	wait_until 5 log_says fault '^ready$'
}

# How many requests had that fault, or were that.
fault_count() { # PATTERN
	grep -Ec -- "$1" "$LOG_DIR/fault.log" || true
}

# A run of the worker: sets OUT, LAST and CODE.
worker() { # ARGUMENT...
	CODE=0
	# shellcheck disable=SC2086
	OUT=$($WRAP "$WORKER" "$@" 2>>"$LOG_DIR/worker.log") || CODE=$?
	LAST=$(tail -n 1 <<<"$OUT")
	printf '%s\n  %s\n' "$*" "$LAST" >>"$LOG_DIR/worker.log"
}

s3() { # SUBCOMMAND ARGUMENT...
	worker s3 "$@" --endpoint "$ENDPOINT" --bucket "${BUCKET:-bucket}" --backoff 20 "${S3_OPTIONS[@]}"
}

# Without a process for it: there are hundreds of these.
field() { # NAME: of the last line, a text without quotes in it or a number; "" if there is none
	if [[ $LAST =~ [{,]\"$1\":(\"([^\"]*)\"|[^,}]*) ]]; then
		FIELD=${BASH_REMATCH[2]:-${BASH_REMATCH[1]}}
	else
		FIELD=
	fi
}

# The last run went well, and its last line has these values.
expect_ok() { # WHAT [NAME=VALUE...]
	local what=$1 pair
	shift
	field ok
	[[ $CODE -eq 0 && $FIELD == true ]] || fail "$what: $LAST"
	for pair in "$@"; do
		field "${pair%%=*}"
		expect_equal "$what: ${pair%%=*}" "$FIELD" "${pair#*=}"
	done
}

# The last run failed with this code, and its sentence has all of these.
expect_error() { # WHAT CODE [TEXT...]
	local what=$1 code=$2 text
	shift 2
	field ok
	[[ $CODE -eq 1 && $FIELD == false ]] || fail "$what: went well: $LAST"
	field error
	expect_equal "$what" "$FIELD" "$code"
	for text in "$@"; do
		[[ ${LAST#*\"reason\":} == *"$text"* ]] || fail "$what: '$LAST' lacks '$text'"
	done
}

# So many bytes that are the same for the same seed; their SHA-256 is in SHA256[NAME].
make_file() { # NAME BYTES [SEED]
	openssl enc -aes-128-ctr -nosalt -pass "pass:${3:-1}" -pbkdf2 -in /dev/zero 2>/dev/null |
		head -c "$2" >"$1" || true
	expect_equal "size of $1" "$(stat -c %s "$1")" "$2"
	SHA256[$1]=$(sha256 "$1")
}

sha256() { # FILE
	sha256sum "$1" | cut -d' ' -f1
}

MIB=$((1024 * 1024))
