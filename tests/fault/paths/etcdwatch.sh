# SPDX-License-Identifier: Apache-2.0
# etcdwatch takes a snapshot because somebody asks for it. Who is told that it is kept has it, whole and
# as etcd has the data; what has an entry in the catalogue is proven; nothing half stays after the next.
PROGRAM=etcdwatch

path_begin() {
	lan_up
	etcd_alone
	local i
	for i in 1 2 3 4 5; do
		etcdctl put "key/$i" "value $i" >/dev/null
	done
	cat >"$T/etcdwatch.yaml" <<-YAML
		apiVersion: fairlead/v1
		kind: NodeConfig
		name: n1
		---
		apiVersion: fairlead/v1
		kind: EtcdClientConfig
		endpoints: ["http://127.0.0.1:2379"]
		---
		apiVersion: fairlead/v1
		kind: EtcdSnapshotConfig
		name: j
		schedule: '0 0 1 1 *'
		catchUp: false
		directory: $T/snapshots
		reserve: 1MiB
		compression: {algorithm: none}
		retention: {last: 2, daily: 0, weekly: 0}
	YAML
}

etcdwatch_run() { # PROGRAM
	mkdir -p "$T/run-n1"
	spawn etcdwatch n1 env "${FAULT[@]}" "$1" --config "$T/etcdwatch.yaml" --runtime-dir "$T/run-n1"
}

answers() {
	fairlead n1 -o json etcd snapshot jobs
}

answers_or_gone() {
	gone etcdwatch || answers
}

entries_of() {
	find "$T/snapshots" -maxdepth 1 -name '[!.]*.json' 2>/dev/null || true
}

# By the other tool that reads them.
all_are_sound() {
	local entry
	while read -r entry; do
		"$FAIRLEAD" etcd snapshot verify "$T/snapshots/$(jq -r .file "$entry")" ||
			lie "a snapshot that is in the catalogue is not sound: $entry"
	done < <(entries_of)
} >>"$LOG_DIR/commands.log" 2>&1

save() {
	FAIRLEAD_TIMEOUT=60 fairlead n1 -o json etcd snapshot save j
} >>"$LOG_DIR/commands.log" 2>&1

path_walk() {
	local before
	rm -rf "$T/snapshots"
	etcdwatch_run "$PROGRAMS/etcdwatch"
	wait_until 60 answers_or_gone
	before=$(entries_of)
	! save || [[ $(entries_of) != "$before" ]] || lie "etcdwatch said that a snapshot is kept, and it is not"
	all_are_sound
	end etcdwatch
}

path_again() {
	etcdwatch_run "$BUILD/bin/etcdwatch"
	wait_until 60 answers
	wait_until 60 save
	all_are_sound
	end_well etcdwatch
	# A snapshot is a file and its entry.
	expect_equal "files for each entry" \
		"$(find "$T/snapshots" -maxdepth 1 -type f -name '[!.]*' | wc -l)" $((2 * $(entries_of | wc -l)))
}
