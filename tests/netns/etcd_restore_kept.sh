#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What etcdwatch keeps comes back: the newest of its directory, one by its id, and the copies in S3, by
# the configuration or by options alone; compressed and encrypted. Without the key, with another one,
# and when a byte or the catalogue is wrong it is refused, and nothing plain is left on the disk. The
# commands that read snapshots take all of these too.
. "$(dirname "$0")/lib-etcdwatch.sh"

EW_SCHEDULE="0 0 1 1 *"
cluster_of_etcd
fill_etcd 20 10000
stores_up
TOOL=$ETCD_BIN/etcdutl
[[ -x $TOOL ]] || TOOL=$ETCD_BIN/etcdctl
for who in one two; do
	age-keygen -o "$T/$who.key" 2>/dev/null
done
EW_PACKING="compression: {algorithm: zstd, level: 3}
encryption: {recipients: [$(age-keygen -y "$T/one.key")]}"
EW_MORE=$(store_targets site)

# As it is installed: the programs that it runs are not beside it.
for program in etcdwatch etcdwatch-worker; do
	install -D -m 755 "$BUILD/bin/$program" "$T/usr/sbin/$program"
done
install -D -m 755 "$FAIRLEAD" "$T/usr/bin/fairlead"
install -D -m 755 "$FAIRLEAD" "$T/alone/fairlead"

restore() { # ARGUMENT...
	inside n1 env PATH="$ETCD_BIN:$PATH" "$T/usr/bin/fairlead" etcd restore --data-dir "$T/new/etcd" \
		--manifests "$T/none" --config "$T/etcdwatch-n1.yaml" "$@"
}

# Refused with this reason, and nothing is left.
refused() { # PATTERN ARGUMENT...
	local pattern=$1
	shift
	! restore --yes "$@" >"$T/out" 2>&1 || fail "not refused: $*"
	grep -Eq -- "$pattern" "$T/out" || fail "refused, but not because of '$pattern': $(tail -n 3 "$T/out")"
	expect_equal "what is left" "$(ls -A "$T/new")" ""
}

# Restored, and it is this revision.
restored() { # WHAT REVISION ARGUMENT...
	local what=$1 revision=$2
	shift 2
	restore --yes -o json "$@" >"$T/done" 2>"$T/err" || fail "$what: not restored: $(cat "$T/done" "$T/err")"
	expect_equal "$what: revision" "$(jq 'select(.plan).plan.snapshot.revision' "$T/done")" "$revision"
	expect_equal "$what: HashKV" "$(jq 'select(.result).result.hashkv' "$T/done")" \
		"$(jq 'select(.plan).plan.snapshot.entry.hashkv' "$T/done")"
	expect_equal "$what: what is left" "$(ls -A "$T/new")" "etcd"
	rm -r "$T/new/etcd"
}

say "etcdwatch takes two, and copies them"
etcdwatch_start n1
wait_until 30 has_entries 1 n1
etcd_ctl put after the-first >/dev/null
nap 1.1 # their names have seconds
fairlead n1 -o json etcd snapshot save >"$T/saved.json"
wait_until 30 target_is n1 site .stored 2
dir=$(etcdwatch_directory n1)
mkdir "$T/new"
mapfile -t ids < <(entries n1 | jq -rs 'sort_by(.revision)[].id')
mapfile -t revisions < <(entries n1 | jq -rs 'sort_by(.revision)[].revision')
key=$(fairlead n1 -o json etcd snapshot key | jq -r .key)
fairlead n1 etcd snapshot key | has_line "^  - $key" || fail "no line for the configuration"
expect_equal "what is signed" "$(fairlead n1 -o json etcd snapshot list | jq -r .signed | sort -u)" trusted
expect_equal "by which key" "$(entries n1 | jq -r .key | sort -u)" "$key"
kill_hard etcd-n1 etcd-n2 etcd-n3 etcdwatch-n1

say "from its directory"
restored "the newest" "${revisions[1]}" --identity "$T/one.key" latest
restored "by its id" "${revisions[0]}" --identity "$T/two.key" --identity "$T/one.key" "${ids[0]}"
restored "the newest of a directory" "${revisions[1]}" --directory "$dir" --identity "$T/one.key" latest
restored "a file" "${revisions[0]}" --identity "$T/one.key" "$dir/${ids[0]}.db.zst.age"

say "with what the job's drills have, unless it is said otherwise"
printf '#!/bin/sh\nexec %s "$@"\n' "$TOOL" >"$T/usr/tool"
chmod +x "$T/usr/tool"
cp "$T/etcdwatch-n1.yaml" "$T/with-drill.yaml"
echo "drill: {schedule: '@yearly', identityFile: $T/one.key, etcdutl: $T/usr/tool}" >>"$T/with-drill.yaml"
tool_of() { # ARGUMENT...
	restore -o json --config "$T/with-drill.yaml" "$@" | jq -r .plan.host.tool.path
}
expect_equal "the tool of the drills" "$(tool_of latest)" "$T/usr/tool"
expect_equal "the one that was named" "$(tool_of --tool "$TOOL" latest)" "$TOOL"
expect_equal "the one for a file" "$(tool_of --identity "$T/one.key" "$dir/${ids[0]}.db.zst.age")" "$TOOL"

say "from S3, by the configuration and without it"
restored "the newest" "${revisions[1]}" --identity "$T/one.key" s3:site/latest
{
	cat "$T/etcdwatch-n1.yaml"
	printf -- '---\napiVersion: fairlead/v1\nkind: EtcdSnapshotConfig\nname: daily\nschedule: "@daily"\n%s\n' \
		"$EW_PACKING"
	store_targets site | sed 's/name: site/name: daily/'
} >"$T/two-jobs.yaml"
restored "the newest, of a place that two jobs share" "${revisions[1]}" --identity "$T/one.key" \
	--config "$T/two-jobs.yaml" s3:site/latest
refused "there is no verified snapshot in 'cluster-a/', among 0 entries" --identity "$T/one.key" \
	--config "$T/two-jobs.yaml" s3:daily/latest
command=$(restore --identity "$T/one.key" "s3:site/${ids[0]}" 2>/dev/null | tail -n 1)
[[ $command == "fairlead etcd restore s3:site/${ids[0]} "*" --yes" ]] || fail "the command: $command"
expect_equal "what a plan leaves" "$(ls -A "$T/new")" ""
restored "by options" "${revisions[0]}" --identity "$T/one.key" --endpoint "http://10.87.0.1:${STORE_PORT[site]}" \
	--bucket bucket --s3-prefix cluster-a/ --access-key-file "$T/s3.access" \
	--secret-key-file "$T/s3.secret" "s3:${ids[0]}"

say "what is newer elsewhere is named"
minds() { # ARGUMENT...: what a plan has under Mind
	restore -o json --identity "$T/one.key" "$@" 2>/dev/null | jq -r '.plan.mind[]'
}
! minds latest | has_line "a newer one" || fail "the newest has a newer one"
mkdir "$T/away"
mv "$dir/${ids[1]}."* "$T/away/"
minds latest >"$T/out"
has_line "a newer one is known: s3:site/${ids[1]}, revision .*, taken by n1, confirmed by " <"$T/out" ||
	fail "it is not named: $(cat "$T/out")"
mv "$T/away/"* "$dir/"

# A command that reads one; what it unpacks is gone when it ends.
mkdir "$T/scratch"
reads() { # COMMAND ARGUMENT...
	local code=0
	inside n1 env TMPDIR="$T/scratch" "$T/usr/bin/fairlead" -o json etcd snapshot "$1" \
		--config "$T/etcdwatch-n1.yaml" "${@:2}" 2>"$T/err" || code=$?
	expect_equal "what '$*' leaves" "$(ls -A "$T/scratch")" ""
	return "$code"
}
file=$dir/${ids[0]}.db.zst.age
zstd -qdc <(age -d -i "$T/one.key" "$file") >"$T/first.db"

say "read, whatever it is: packed, by its id, the newest, from S3"
for name in "$file" "${ids[0]}" "s3:site/${ids[0]}"; do
	reads verify --identity "$T/one.key" "$name" >"$T/out" || fail "verify $name: $(cat "$T/err")"
	expect_equal "$name" "$(jq -r '[.verified, .id, .hashkv] | join(" ")' "$T/out")" \
		"true ${ids[0]} $(jq .hashkv "$dir/${ids[0]}.json")"
done
expect_equal "its name" "$(jq -r .file "$T/out")" "s3:site/${ids[0]}"
for name in latest s3:site/latest; do
	reads status --identity "$T/one.key" "$name" >"$T/out" || fail "status $name: $(cat "$T/err")"
	expect_equal "$name" "$(jq -r '[.id, .current_revision] | join(" ")' "$T/out")" "${ids[1]} ${revisions[1]}"
done
expect_equal "its key" "$(reads get --identity "$T/one.key" after latest | jq -r '.value | @base64d')" the-first
expect_equal "usage" "$(reads usage --identity "$T/one.key" --depth 1 latest | jq -s 'map(.keys) | add')" \
	"$(jq .live_keys "$dir/${ids[1]}.json")"
! reads diff --identity "$T/one.key" "$T/first.db" s3:site/latest >"$T/out" || fail "no difference"
jq -r '[.change, (.key | @base64d)] | join(" ")' "$T/out" | has_line -x "added after" || fail "no 'after': $(cat "$T/out")"
reads diff --identity "$T/one.key" "$file" "s3:site/${ids[0]}" || fail "the copies differ: $(cat "$T/err")"
! reads verify "$file" >"$T/out" || fail "verified without an identity"
expect_equal "why not" "$(jq -r '.reason' "$T/out")" "it is encrypted, and no identity to decrypt it with was given"

say "nothing of it stays, however it ends"
mkfifo "$T/slow.key" # age waits for it
for how in "INT worker" "TERM cli" "KILL cli"; do
	spawn reading n1 env TMPDIR="$T/scratch" "$T/usr/bin/fairlead" etcd snapshot verify \
		--config "$T/etcdwatch-n1.yaml" --identity "$T/slow.key" "$file"
	wait_until 10 pgrep -f "age .*-i $T/slow.key"
	worker=$(pgrep -P "${PID[reading]}" -x etcdwatch-worke)
	[[ $(ls -A "$T/scratch") ]] || fail "there is no scratch directory"
	expect_equal "plain files" "$(find "$T/scratch" -type f | wc -l)" 0
	[[ $how == *cli ]] || kill -INT "$worker"
	[[ $how == *worker ]] || kill -"${how% *}" "${PID[reading]}"
	wait_until 10 gone reading
	wait_until 10 eval "! kill -0 $worker"
	expect_equal "what $how leaves" "$(ls -A "$T/scratch")" ""
done

say "on a new machine, by the keys of its configuration"
with_keys() { # KEY
	cp "$T/etcdwatch-n1.yaml" "$T/with-keys.yaml"
	printf '%s\n' --- "apiVersion: fairlead/v1" "kind: EtcdWatchConfig" "trustedKeys: [$1]" >>"$T/with-keys.yaml"
	sed -i "s|^directory: .*|directory: $T/empty|" "$T/with-keys.yaml"
}
with_keys "$key"
restored "the newest" "${revisions[1]}" --config "$T/with-keys.yaml" --identity "$T/one.key" s3:site/latest
restore --config "$T/with-keys.yaml" --identity "$T/one.key" s3:site/latest | has_line "^signed  *by a trusted key, $key" ||
	fail "the plan does not say who has signed it"
with_keys ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=
refused "2 signed by keys that are not trusted" --config "$T/with-keys.yaml" --identity "$T/one.key" s3:site/latest
refused "which is none of the trusted keys" --config "$T/with-keys.yaml" \
	--identity "$T/one.key" "s3:site/${ids[1]}"
restored "a key that is named besides" "${revisions[1]}" --config "$T/with-keys.yaml" --trust "$key" \
	--identity "$T/one.key" s3:site/latest

say "the store hides the newest, which this node knows"
store_keys site >"$T/keys"
for name in $(grep "${ids[1]}" "$T/keys"); do store site rm "$name" >/dev/null; done
refused "knows a newer one, ${ids[1]}" --identity "$T/one.key" s3:site/latest
restored "the other one by its id" "${revisions[0]}" --identity "$T/one.key" "s3:site/${ids[0]}"

say "refused"
! "$T/alone/fairlead" etcd restore "$T/none.db" 2>"$T/out" || fail "restored without a worker"
expect "it says what is missing" grep -q "'etcdwatch-worker' is not installed" "$T/out"
refused "no identity to decrypt it" latest
refused "age.*(no identity matched|failed)" --identity "$T/two.key" latest
refused "there is no snapshot '2026-nix'" 2026-nix
refused "no job of etcdwatch has a target 'nix'" s3:nix/latest
refused "there are 0 snapshots '1-nix'" --identity "$T/one.key" s3:site/1-nix
store_shut site
refused "." --identity "$T/one.key" s3:site/latest
minds latest | has_line "^s3:site/latest could not be asked whether it is newer: " || fail "it was not said"
cp -p "$file" "$T/good"
printf X | dd of="$file" bs=1 seek=$(($(stat -c %s "$file") / 2)) conv=notrunc status=none
refused "age|SHA-256" --identity "$T/one.key" "${ids[0]}"
! reads verify --identity "$T/one.key" "${ids[0]}" >"$T/out" || fail "verified what is damaged"
expect_equal "damaged" "$(jq .verified "$T/out")" false
cp -p "$T/good" "$file"
entry=$dir/${ids[0]}.json
cp -p "$entry" "$T/good.json"
jq '.hashkv += 1' "$T/good.json" >"$entry"
refused "the signature of the entry of '${ids[0]}' is wrong" --identity "$T/one.key" "${ids[0]}"
jq 'del(.signature, .key) | .hashkv += 1' "$T/good.json" >"$entry"
refused "and the catalogue says" --identity "$T/one.key" "${ids[0]}"
jq '.verified.tree = false' "$T/good.json" >"$entry"
refused "has not verified" --identity "$T/one.key" "${ids[0]}"
mkdir -p "$dir/rejected"
mv "$file" "$dir/rejected/"
jq '.rejected = "n2 disagrees"' "$T/good.json" >"$dir/rejected/${ids[0]}.json"
rm "$entry"
refused "as no snapshot: n2 disagrees" --identity "$T/one.key" "${ids[0]}"
refused "as no snapshot: n2 disagrees" --identity "$T/one.key" "$dir/rejected/${ids[0]}.db.zst.age"
reads status --identity "$T/one.key" "${ids[0]}" >"$T/out" || fail "what is put aside cannot be read"
expect "it is said" grep -q "has put ${ids[0]} aside: n2 disagrees" "$T/err"
