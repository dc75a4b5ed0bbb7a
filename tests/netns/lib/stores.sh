# SPDX-License-Identifier: Apache-2.0
# Two stores for the snapshots of etcdwatch: the buckets `bucket` and `other` of one real S3-compatible
# server (tests/s3/server), each behind a door of its own on the mgmt network, which a story can shut.
# They are the targets `site` and `far`.

declare -gA STORE_PORT=([site]=9001 [far]=9002) STORE_BUCKET=([site]=bucket [far]=other)
STORE_SERVER_PORT=8000
STORE_FAULT_PORT=8100

stores_up() {
	printf 'test:tester\n' >"$T/s3.access"
	printf 'testing\n' >"$T/s3.secret"
	chmod 644 "$T/s3.access" "$T/s3.secret"
	ip -n sw link set lo up
	# Its objects have extended attributes, which a file system in memory may lack.
	spawn s3 sw "${S3_SERVER:-$ROOT/tests/s3/server}" "$LOG_DIR/swift" "$STORE_SERVER_PORT" bucket other
	wait_until 60 log_says s3 '^ready$'
	store_open site
	store_open far
}

store_open() { # TARGET [PORT]
	spawn "door-$1" sw socat "TCP-LISTEN:${STORE_PORT[$1]},bind=10.87.0.1,fork,reuseaddr" \
		"TCP:127.0.0.1:${2:-$STORE_SERVER_PORT}"
}

# Nobody listens any more.
store_shut() { # TARGET
	kill_hard "door-$1"
}

# A store's requests go through tests/tools/s3fault, with these rules.
store_faults() { # TARGET RULE...
	local target=$1
	shift
	spawn fault sw "$TOOLS/s3fault" "$STORE_FAULT_PORT" "$STORE_SERVER_PORT" "$@"
	wait_until 5 log_says fault '^ready$'
	store_shut "$target"
	store_open "$target" "$STORE_FAULT_PORT"
}

# Lines of a job's document.
store_targets() { # TARGET...; TARGET=RETENTION
	local target
	echo "targets:"
	for target in "$@"; do
		cat <<-YAML
			  - name: ${target%%=*}
			    endpoint: http://10.87.0.1:${STORE_PORT[${target%%=*}]}
			    bucket: ${STORE_BUCKET[${target%%=*}]}
			    prefix: cluster-a/
			    accessKeyFile: $T/s3.access
			    secretKeyFile: $T/s3.secret
		YAML
		[[ $target != *=* ]] || echo "    retention: ${target#*=}"
	done
}

# The worker, as an operator would use it: s3 list, ...
store() { # TARGET SUBCOMMAND WORD...
	local target=$1 subcommand=$2
	shift 2
	inside sw "$T/bin/etcdwatch-worker" s3 "$subcommand" --endpoint "http://127.0.0.1:$STORE_SERVER_PORT" \
		--bucket "${STORE_BUCKET[$target]}" --access-key-file "$T/s3.access" \
		--secret-key-file "$T/s3.secret" "$@"
}

# Keys in a store, one a line, without the owner's mark.
store_keys() { # TARGET
	store "$1" list cluster-a/ | jq -r 'select(.key) | .key | select(endswith("/fairlead-owner.json") | not)'
}

store_has() { # TARGET COUNT: snapshots with their entries
	[[ $(store_keys "$1" | grep -c '\.json$') -eq $2 && $(store_keys "$1" | wc -l) -eq $((2 * $2)) ]]
}

# A field of a target of the job: target n1 site .pending
target() { # NODE TARGET FILTER
	fairlead "$1" -o json etcd snapshot jobs | jq -r ".targets[] | select(.target == \"$2\") | $3"
}

target_is() { # NODE TARGET FILTER VALUE
	[[ $(target "$1" "$2" "$3" 2>/dev/null) == "$4" ]]
}

# What is there is what the catalogue there says, to the byte.
store_is_sound() { # TARGET
	local key entry dir=$T/fetched-$1
	rm -rf "$dir"
	mkdir -p "$dir"
	while read -r key; do
		store "$1" get "$key" "$dir/entry.json" >/dev/null
		entry=$(jq -c . "$dir/entry.json")
		rm "$dir/entry.json"
		expect_equal "key of the entry" "$key" \
			"cluster-a/$(jq -r '"\(.cluster_id)/\(.id).json"' <<<"$entry")"
		store "$1" get "${key%/*}/$(jq -r .file <<<"$entry")" "$dir/$(jq -r .file <<<"$entry")" >/dev/null
		expect_equal "SHA-256 of what $key stands for" \
			"$(sha256sum "$dir/$(jq -r .file <<<"$entry")" | cut -d ' ' -f 1)" \
			"$(jq -r .file_sha256 <<<"$entry")"
	done < <(store_keys "$1" | grep '\.json$')
}
