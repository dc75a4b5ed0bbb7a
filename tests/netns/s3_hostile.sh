#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A store that lies, to whoever restores from it: of the length of a snapshot, by a longer one in its
# place, by one that unpacks to more than the catalogue says, by a stranger's database that is not
# encrypted, or not signed by a node. Each is refused before the disk is filled, with what was expected and what came, and
# leaves nothing behind.
. "$(dirname "$0")/lib-s3.sh"

s3_up
ID=20261121T203000Z-hourly-cp-1-r8
FOLDER=cluster-a/cdf818194e3a8c32
KEY=$FOLDER/$ID.db.zst
cp "$ROOT/tests/bolt/etcd-3.5.db" db
zstd -q db -o good
DB_BYTES=$(($(stat -c %s db) - 32))
DB_SHA256=$(tail -c 32 db | od -An -v -tx1 | tr -d ' \n')
PLAIN=$((DB_BYTES + 32))

# The file as that snapshot, and an entry that fits to it, but for what the filter changes.
store() { # FILE [FILTER]
	jq "${2:-.}" >entry.json <<-JSON
		{"version": 1, "id": "$ID", "job": "hourly", "cluster_id": "cdf818194e3a8c32", "timeline": 1,
		 "member": {"id": "8e9e05c52164694d", "name": "cp-1"}, "node": "cp-1", "server_version": "3.5.16",
		 "revision": 8, "compact_revision": null, "hash": 1, "hashkv": 7, "hashkv_revision": 1,
		 "total_key": 9, "live_keys": 6, "db_bytes": $DB_BYTES, "file": "$ID.db.zst",
		 "file_bytes": $(stat -c %s "$1"), "file_sha256": "$(sha256 "$1")", "db_sha256": "$DB_SHA256",
		 "compression": "zstd", "encryption": "none", "recipients": 0, "started": "2026-11-21T20:30:00Z",
		 "finished": "2026-11-21T20:30:04Z", "took_ms": 3900,
		 "verified": {"digest": true, "tree": true, "hashkv": null}, "extra": [], "copies": []}
	JSON
	ENDPOINT=http://127.0.0.1:$S3_PORT
	s3 put "$1" "$KEY"
	expect_ok "put $1"
	s3 put entry.json "$FOLDER/$ID.json"
	expect_ok "put its entry"
}

RESTORE_OPTIONS=()
RESTORED=$ID

# So many bytes may be in one file at most: who writes more gets an error that is another one.
restore() { # BYTES
	mkdir -p new
	CODE=0
	OUT=$( (
		ulimit -f $((($1 + 1023) / 1024))
		trap '' XFSZ
		exec "$WORKER" restore source "$RESTORED" "${RESTORE_OPTIONS[@]}" --data-dir "$PWD/new/etcd" --s3-prefix cluster-a/ \
			--endpoint "$ENDPOINT" --bucket bucket --backoff 20
	) 2>>"$LOG_DIR/worker.log") || CODE=$?
	LAST=$(tail -n 1 <<<"$OUT")
}

refused() { # WHAT CODE TEXT...
	restore "$PLAIN"
	expect_error "$@"
	expect_equal "$1: what is left" "$(ls -A new)" ""
}

say "what is as the catalogue says comes back"
store good
restore "$PLAIN"
expect_ok "restore source"
"$WORKER" restore clean --data-dir "$PWD/new/etcd" >/dev/null

say "where snapshots are encrypted, one that is not is a stranger's"
age-keygen -o age.key 2>/dev/null
store good
for how in "--identity age.key" "--encrypted"; do
	read -ra RESTORE_OPTIONS <<<"$how"
	s3_faults
	refused "by its id, $how" PLAIN "$ID" "is not encrypted" "--plain"
	expect_equal "fetched" "$(fault_count "^GET .*$ID.db.zst")" 0
	RESTORED=latest
	refused "the newest, $how" NOT_FOUND "among 1 entries" "1 not encrypted"
	RESTORE_OPTIONS+=(--plain)
	refused "the newest with --plain, $how" NOT_FOUND "1 not encrypted"
	RESTORED=$ID
	restore "$PLAIN"
	expect_ok "by its id with --plain, $how"
	"$WORKER" restore clean --data-dir "$PWD/new/etcd" >/dev/null
done

say "and its entry may say that it is encrypted"
RESTORE_OPTIONS=(--identity age.key)
KEY=$FOLDER/$ID.db.zst.age
store good '.encryption = "age" | .recipients = 1 | .file += ".age"'
refused "by its id" CORRUPT "$ID" "is not what its name says"
s3 rm "$KEY"
KEY=$FOLDER/$ID.db.zst
RESTORE_OPTIONS=()

# "ed25519:BASE64" of a private key that openssl has made.
new_key() { # NAME
	openssl genpkey -algorithm ed25519 -out "$1.key"
	PUBLIC[$1]=ed25519:$(openssl pkey -in "$1.key" -pubout -outform DER | tail -c 32 | base64)
}

# The entry in the bucket gets the signature that its bytes deserve, by openssl.
sign() { # KEY
	{
		echo "fairlead snapshot v1"
		jq -cS '.period = .period | del(.version, .usage, .rejected, .copies, .signature, .key)' entry.json
	} >signed
	jq --arg key "${PUBLIC[$1]}" --arg signature \
		"v1:$(openssl pkeyutl -sign -rawin -inkey "$1.key" -in signed | base64 -w 0)" \
		'. + {key: $key, signature: $signature}' entry.json >entry.signed
	s3 put entry.signed "$FOLDER/$ID.json"
	expect_ok "put the signed entry"
}

# The last restore went well, and the signature was found to be this.
restored() { # WHAT VERDICT
	restore "$PLAIN"
	expect_ok "$1" "signed=$2"
	"$WORKER" restore clean --data-dir "$PWD/new/etcd" >/dev/null
}

declare -A PUBLIC=()
new_key node
new_key old
new_key stranger

say "an entry that no node has signed is taken by its id alone"
store good
for how in "--own-key ${PUBLIC[node]}" "--trust ${PUBLIC[node]}"; do
	read -ra RESTORE_OPTIONS <<<"$how"
	RESTORED=latest
	refused "the newest, $how" NOT_FOUND "1 not signed"
	RESTORED=$ID
	restored "by its id, $how" none
done

say "one that a node has signed is the newest, by each of the keys that are trusted"
sign node
RESTORED=latest
RESTORE_OPTIONS=(--own-key "${PUBLIC[node]}")
restored "its own key" trusted
RESTORE_OPTIONS=(--trust "${PUBLIC[old]}" --trust "${PUBLIC[node]}")
restored "one of two" trusted
RESTORE_OPTIONS=(--trust "${PUBLIC[old]}")
refused "its key was dropped" NOT_FOUND "1 signed by keys that are not trusted"

say "a stranger signs as well, with another key"
sign stranger
RESTORE_OPTIONS=(--trust "${PUBLIC[node]}" --own-key "${PUBLIC[stranger]}")
refused "the newest" NOT_FOUND "1 signed by keys that are not trusted"
RESTORED=$ID
refused "by its id" UNTRUSTED "$ID" "${PUBLIC[stranger]}, which is none of the trusted keys"
RESTORE_OPTIONS=(--own-key "${PUBLIC[node]}")
restored "where no keys are configured" unknown-key

say "or changes what was signed"
sign node
jq '.revision = 9000' entry.signed >entry.changed
s3 put entry.changed "$FOLDER/$ID.json"
refused "by its id" UNTRUSTED "$ID" "signature of the entry" "is wrong"
RESTORED=latest
refused "the newest" NOT_FOUND "1 with a wrong signature"
RESTORED=$ID

say "what this node knows is another snapshot, or a newer one"
mkdir -p known
RESTORE_OPTIONS=(--own-key "${PUBLIC[node]}" --known "$PWD/known")
sign node
jq '.db_sha256 = "'"$(sha256 entry.json)"'"' entry.json >"known/$ID.json"
refused "by its id" MISMATCH "the store has another '$ID' than this node's catalogue in"
cp entry.json "known/$ID.json"
jq '.id = "20261121T213000Z-hourly-cp-1-r9" | .revision = 9 | .started = "2026-11-21T21:30:00Z" |
	.file = .id + ".db.zst"' entry.json >known/20261121T213000Z-hourly-cp-1-r9.json
RESTORED=latest
restore "$PLAIN"
expect_ok "the newest"
expect_equal "what this node knows" "$(jq -c '.newer_known | [.id, .named]' <<<"$LAST")" \
	'["20261121T213000Z-hourly-cp-1-r9",false]'
"$WORKER" restore clean --data-dir "$PWD/new/etcd" >/dev/null
RESTORED=$ID
RESTORE_OPTIONS=()
store good

say "another object is in its place, a longer one"
make_file long 3000000
s3 put long "$KEY"
s3_faults
refused "longer" MISMATCH "$ID" "has 3000000 bytes, and $(stat -c %s good) by the catalogue" "another copy"
expect_equal "fetched" "$(fault_count "^GET .*$ID.db.zst")" 0

say "it says what fits, and sends more"
s3_faults "HEAD/$ID.db.zst/9/announce=$(stat -c %s good)"
refused "more" S3_CHANGED "$ID" "was to have $(stat -c %s good) bytes, and"

say "it says more than any disk has room for, and its entry says so too"
store good '.file_bytes = 1000000000000000'
s3_faults "HEAD/$ID.db.zst/9/announce=1000000000000000"
refused "endless" NO_SPACE "$ID" "1000000000000000 bytes" "make room"
expect_equal "fetched" "$(fault_count "^GET .*$ID.db.zst")" 0

say "what it unpacks to would fill the disk"
head -c 1G /dev/zero | zstd -q -o bomb
store bomb
refused "a bomb" MISMATCH "$ID" "a snapshot of $PLAIN bytes should be in it"
store bomb '.db_bytes = 1000000000000000'
refused "and its entry says so" NO_SPACE "$ID" "make room"
