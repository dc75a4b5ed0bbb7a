# SPDX-License-Identifier: Apache-2.0
# etcdwatch on the nodes: configuration, start, what it has in its directory. One job, "minutely".
#
# What a story may set:
EW_SCHEDULE="* * * * *"
EW_TAKER=elected
EW_PACKING="compression: {algorithm: none}"
EW_MORE= # further lines of the job
EW_NO_PROGRESS=5s
EW_PREFIX=fairlead/v1/ # of its keys in etcd
EW_ENV=()     # NAME=VALUE...: of its environment
EW_ENDPOINTS= # NODE...: whose members it may ask; default: all, its own first

ETCDWATCH=${ETCDWATCH:-$BUILD/bin/etcdwatch}
EW_SEEN=() # nodes on which it has been started

etcdwatch_directory() { # NODE
	echo "$T/snapshots-$1"
}

etcdwatch_config() { # NODE
	local node=$1 member
	cat <<-YAML
		apiVersion: fairlead/v1
		kind: NodeConfig
		name: $node
		---
		apiVersion: fairlead/v1
		kind: EtcdClientConfig
		endpoints:
		  - https://127.0.0.1:2379
	YAML
	for member in ${EW_ENDPOINTS:-"${NODES[@]}"}; do
		[[ $member == "$node" ]] || echo "  - https://$(mgmt_ip "$member"):2379"
	done
	cat <<-YAML
		caFile: $PKI/etcd-trust.crt
		certFile: $PKI/client-$node.crt
		keyFile: $PKI/client-$node.key
		prefix: $EW_PREFIX
		---
		apiVersion: fairlead/v1
		kind: EtcdSnapshotConfig
		name: minutely
		schedule: "$EW_SCHEDULE"
		taker: $EW_TAKER
		directory: $(etcdwatch_directory "$node")
		reserve: 1MiB
		limits: {noProgress: $EW_NO_PROGRESS}
	YAML
	printf '%s\n' "$EW_PACKING"
	[[ -z $EW_MORE ]] || printf '%s\n' "$EW_MORE"
}

# As a service manager would: nobody's user, without any capability. Its programs are copied to where
# that user can read them.
etcdwatch_start() { # NODE...
	local node program
	for program in etcdwatch etcdwatch-worker; do
		[[ -x $T/bin/$program ]] || install -D -m 755 "$(dirname "$ETCDWATCH")/$program" "$T/bin/$program"
	done
	for node in "$@"; do
		install -d -o nobody "$T/run-$node" "$T/state-$node"
		[[ -d $(etcdwatch_directory "$node") ]] || install -d -o nobody -m 700 "$(etcdwatch_directory "$node")"
		etcdwatch_config "$node" >"$T/etcdwatch-$node.yaml"
		# shellcheck disable=SC2086
		spawn "etcdwatch-$node" "$node" setpriv --reuid nobody --regid nogroup --clear-groups \
			--inh-caps -all --bounding-set -all --no-new-privs \
			env STATE_DIRECTORY="$T/state-$node" "${EW_ENV[@]}" $WRAP "$T/bin/etcdwatch" \
			--config "$T/etcdwatch-$node.yaml" --runtime-dir "$T/run-$node" \
			--log-level "${EW_LOG_LEVEL:-info}"
		EW_SEEN+=("$node")
	done
}

# A field of the job: job n1 .state
job() { # NODE FILTER
	fairlead "$1" -o json etcd snapshot jobs | jq -r "$2"
}

job_is() { # NODE FILTER VALUE
	[[ $(job "$1" "$2" 2>/dev/null) == "$3" ]]
}

# The snapshot that is being taken is well under way.
has_some_bytes() { # NODE
	[[ $(job "$1" .taken_bytes) -gt 100000 ]]
}

# A snapshot of the node's own member takes long enough for something to happen to it.
slow_member() { # NODE
	inside "$1" tc qdisc replace dev lo root tbf rate 8mbit burst 256kb latency 10s
}

# The entries in the directory of a node, or of all, as JSON lines.
entries() { # [NODE...]
	local node
	for node in "${@:-${NODES[@]}}"; do
		find "$(etcdwatch_directory "$node")" -maxdepth 1 -name '[!.]*.json' -exec jq -c . {} + 2>/dev/null
	done
}

n_entries() { # [NODE...]
	entries "$@" | wc -l
}

has_entries() { # COUNT [NODE...]
	local count=$1
	shift
	[[ $(n_entries "$@") -eq $count ]]
}

# Each entry has its file, whole; what another program says of it is what the entry says; and another
# member than its own has confirmed it.
entries_are_sound() { # NODE...
	local node dir entry file want got
	for node in "$@"; do
		dir=$(etcdwatch_directory "$node")
		while read -r entry; do
			file=$dir/$(jq -r .file <<<"$entry")
			want=$(jq -r .file_sha256 <<<"$entry")
			got=$(sha256sum "$file" | cut -d ' ' -f 1)
			expect_equal "SHA-256 of $file" "$got" "$want"
			if [[ $file == *.db ]]; then
				want=$(jq -r .db_sha256 <<<"$entry")
				got=$(head -c -32 "$file" | sha256sum | cut -d ' ' -f 1)
				expect_equal "SHA-256 of the database in $file" "$got" "$want"
				want=$(jq -r '"\(.hash) \(.revision) \(.total_key) \(.db_bytes)"' <<<"$entry")
				got=$(ETCDCTL_API=3 "$ETCD_BIN/etcdctl" snapshot status --write-out json "$file" 2>/dev/null |
					jq -r '"\(.hash) \(.revision) \(.totalKey) \(.totalSize)"')
				expect_equal "etcdctl's status of $file" "$got" "$want"
			fi
			expect_equal "digest and tree of $file" "$(jq -r '.verified | "\(.digest) \(.tree)"' <<<"$entry")" \
				"true true"
			jq -e '.verified.hashkv != null and .verified.hashkv != .member.name' >/dev/null <<<"$entry" ||
				fail "nobody has confirmed $file"
		done < <(entries "$node")
	done
}

# Keys as they are written by somebody; VALUE_BYTES each.
fill_etcd() { # COUNT [VALUE_BYTES]
	local i value
	value=$(head -c "$((${2:-100} * 3 / 4))" /dev/urandom | base64 -w 0)
	for ((i = 0; i < $1; i++)); do
		etcd_ctl put "fill/$i" "$i-$value" >/dev/null
	done
}

# For each etcdwatch that is started from now on, and its workers: a clock that is ahead of the machine's
# (libfaketime), by nothing at first. They notice within a second how far it is. So it need not take a
# minute until the next one begins.
clock_own() { # [NAME=VALUE...]: more of their environment; DONT_FAKE_MONOTONIC=1: the wall's clock only
	local library
	library=$(find /usr/lib -name libfaketimeMT.so.1 -print -quit)
	[[ -n $library ]] || fail "libfaketime is not installed (make deps)"
	EW_ENV=(LD_PRELOAD="$library" FAKETIME_TIMESTAMP_FILE="$T/clock" FAKETIME_CACHE_DURATION=1 "$@")
	clock_set 0
}

clock_set() { # SECONDS that it is ahead
	CLOCK_AHEAD=$1
	echo "+$1" >"$T/clock.new"
	mv "$T/clock.new" "$T/clock"
}

# When the next minute begins by that clock, in seconds since the epoch.
clock_next_minute() {
	echo $((($(date +%s) + CLOCK_AHEAD) / 60 * 60 + 60))
}

# It is so late by that clock now, or later.
clock_forward_to() { # SECONDS since the epoch
	local ahead=$(($1 - $(date +%s)))
	[[ $ahead -le $CLOCK_AHEAD ]] || clock_set "$ahead"
}

# Three nodes with etcd, and nothing else.
cluster_of_etcd() {
	say "three nodes with etcd"
	lan_up
	pki_up
	etcd_up
}

etcdwatch_statuses() {
	local node
	for node in "${EW_SEEN[@]}"; do
		echo "--- etcd snapshot jobs on $node"
		fairlead "$node" -o json etcd snapshot jobs 2>&1
		find "$(etcdwatch_directory "$node")" -type f -printf '%P %s\n' | sort
	done
}

# A command is refused, and says why. A machine that is busy may give another reason first: a member
# was too slow to answer. So it is asked again until it says this one; but it must never be done.
is_refused() { # PATTERN NODE ARGUMENT...
	local pattern=$1
	shift
	! fairlead "$@" >"$T/said" 2>&1 </dev/null || fail "it was not refused: ${*:2}"
	grep -q -e "$pattern" "$T/said"
}

# A change of the cluster is made; what was said, of all attempts, is in $T/done.
is_done() { # NODE ARGUMENT...
	fairlead "$1" --yes "${@:2}" >>"$T/done" 2>&1
}

# No sanitizer has spoken and no assertion has failed.
etcdwatch_logs_are_clean() {
	local node bad=0
	for node in "${EW_SEEN[@]}"; do
		if grep -E 'Sanitizer|runtime error|Assertion|crashed' "$LOG_DIR/etcdwatch-$node.log"; then
			echo "FAILED: a fault in etcdwatch-$node.log"
			bad=1
		fi
	done
	return "$bad"
}

ON_END+=(etcdwatch_logs_are_clean)
ON_FAILURE+=(etcdwatch_statuses)
