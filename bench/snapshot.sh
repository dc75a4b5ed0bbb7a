#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Measures what a snapshot of etcd costs, side by side with etcd's own tools, on one real member with
# mutual TLS and a database of 50, 500 and 2,000 MB on the disk that the build folder is on: it grows from
# one to the next. Run by bench/run.
#   save    etcdwatch by `fairlead etcd snapshot save`, against `etcdctl snapshot save`: the daemon alone
#           takes (and checks the digest, which etcdctl does not), its worker proves
#   status  `fairlead etcd snapshot status` against `etcdctl snapshot status` (3.4) and `etcdutl snapshot
#           status` (3.5 and later), of the same file; and `verify`, which has no equal there
#   save_file  `fairlead etcd snapshot save FILE`, until the file is there, synced and proven
#   restore `fairlead etcd restore --yes` against `etcdutl snapshot restore` (3.5) and one reading of what that
#           made, which is the least that a restore with a proof can take; on both processors, etcd being idle
#   proven  from the minute that the schedule names until the snapshot is proven and catalogued
#   drill   `fairlead etcd drill --file`
# The last two at 500 MB only.
# From the environment: DB_MB, the sizes, from the least up; VALUES, "objects" or "small" (bench/tools/fill).
set -eEuo pipefail

ROOT=$(cd "$(dirname "$0")/.." && pwd)
STORY=bench/snapshot
for part in world pki; do
	# shellcheck source=/dev/null
	. "$ROOT/tests/netns/lib/$part.sh"
done
FAIRLEAD=$BUILD/bin/fairlead
SINGLE=500 VALUES=${VALUES:-objects}
read -ra SIZES <<<"${DB_MB:-50 500 2000}"
[[ -z $QUICK ]] || RUNS=${RUNS:-3} SIZES=(6 60) SINGLE=60
RUNS=${RUNS:-7}
WORK=$BENCH_DIR/snapshot.work
export ETCDCTL_API=3
# Before the world is entered, from where nothing can be downloaded.
NEWER=$("$ROOT/tests/netns/etcd-get" 3.5)

world_enter "$@"

SAMPLES=$T/samples
PKI=$T/pki
URL=https://127.0.0.1:2379
# Two processors: etcd's, and that of the program that is measured.
mapfile -t CPUS < <(taskset -pc $$ | sed 's/.*: //; s/,/\n/g' | awk -F - '{ for (i = $1; i <= $NF; i++) print i }')
SERVER_CPU=${CPUS[-1]} OWN_CPU=${CPUS[0]}
ON=$OWN_CPU # where what is measured runs

tidy() {
	rm -rf "$WORK"
}
ON_END+=(tidy)
ON_FAILURE+=(tidy)

sample() { # NAME UNIT VALUE
	echo "$1 $2 $3" >>"$SAMPLES"
}

# --- the world ---------------------------------------------------------------------------------------

pki() {
	pki_authority etcd-ca
	pki_issue server etcd-ca server DNS:localhost,IP:127.0.0.1
	pki_issue client etcd-ca client DNS:client
}

# Every tool speaks TLS to it; only what fills it does not.
etcd_up() {
	ETCD_UNSUPPORTED_ARCH=$(uname -m) taskset -c "$SERVER_CPU" /usr/bin/etcd --name n1 \
		--data-dir "$WORK/etcd" --logger zap --quota-backend-bytes 8000000000 \
		--listen-client-urls "$URL,http://127.0.0.1:2378" --advertise-client-urls "$URL" \
		--client-cert-auth --trusted-ca-file "$PKI/etcd-ca.crt" \
		--cert-file "$PKI/server.crt" --key-file "$PKI/server.key" \
		--snapshot-count 1000 >>"$LOG_DIR/etcd.log" 2>&1 </dev/null &
	PID[etcd]=$!
	wait_until 20 ctl /usr/bin/etcdctl endpoint health
}

ctl() { # PROGRAM ARGUMENT...
	local program=$1
	shift
	"$program" --endpoints "$URL" --cacert "$PKI/etcd-ca.crt" --cert "$PKI/client.crt" \
		--key "$PKI/client.key" --command-timeout 120s "$@" 2>>"$LOG_DIR/etcdctl.log"
}

db_bytes() {
	ctl /usr/bin/etcdctl endpoint status --write-out json | jq '.[0].Status.dbSize'
}

SEED=1
fill() { # MB: until the database is that large
	local have
	have=$(db_bytes)
	while [[ $have -lt $(($1 * 1000000)) ]]; do
		# A database is larger than its values.
		"$BUILD/bench/fill" --endpoint http://127.0.0.1:2378 --seed "$((SEED++))" \
			$([[ $VALUES != small ]] || echo --small) \
			--bytes "$((($1 * 1000000 - have) * 2 / 3 + 1000000))" >/dev/null
		have=$(db_bytes)
	done
}

watch_config() { # NAME SCHEDULE
	cat <<-YAML
		apiVersion: fairlead/v1
		kind: NodeConfig
		name: n1
		---
		apiVersion: fairlead/v1
		kind: EtcdClientConfig
		endpoints: ["$URL"]
		caFile: $PKI/etcd-ca.crt
		certFile: $PKI/client.crt
		keyFile: $PKI/client.key
		---
		apiVersion: fairlead/v1
		kind: EtcdSnapshotConfig
		name: $1
		schedule: "$2"
		catchUp: false
		directory: $WORK/$1
		reserve: 1MiB
		compression: {algorithm: none}
	YAML
}

watch_start() { # NAME SCHEDULE
	mkdir -p "$T/run-$1" "$WORK/$1"
	watch_config "$1" "$2" >"$T/$1.yaml"
	# With what its unit says of libraries.
	GNUTLS_NO_IMPLICIT_INIT=1 taskset -c "$OWN_CPU" "$BUILD/bin/etcdwatch" --config "$T/$1.yaml" --runtime-dir "$T/run-$1" \
		>>"$LOG_DIR/etcdwatch-$1.log" 2>&1 </dev/null &
	PID[$1]=$!
	wait_until 20 fairlead "$1" etcd snapshot jobs
}

# --- measuring ---------------------------------------------------------------------------------------

# Runs it on its processor; what it cost is in COST.
declare -A COST
cost() { # [--daemon PID] COMMAND...
	local word words daemon=()
	[[ $1 != --daemon ]] || {
		daemon=("$1" "$2")
		shift 2
	}
	"$BUILD/bench/cost" "${daemon[@]}" taskset -c "$ON" "$@" >"$T/out" 2>"$T/err" ||
		fail "$* failed: $(tail -n 3 "$T/err")"
	read -ra words < <(tail -n 1 "$T/err")
	for word in "${words[@]}"; do
		COST[${word%%=*}]=${word#*=}
	done
}

calculate() { # EXPRESSION
	awk "BEGIN { print $1 }"
}

# A round's, to compare within the round.
declare -A LAST
note() { # SUBJECT FIGURE WALL_MS CPU_MS RSS_KIB ANON_KIB
	local what values=("${@:3}") units=(ms ms KiB KiB) names=(wall_ms cpu_ms rss_kib anon_kib)
	for what in 0 1 2 3; do
		sample "$1_$2_${names[what]}_at_$SIZE" "${units[what]}" "${values[what]}"
		LAST[$1_$2_${names[what]}]=${values[what]}
	done
}

# Until the file is there and synced; the proof comes behind it.
taken_ms() {
	sed -n 's/.*event=snapshot_taken .*dur_ms=\([0-9]*\).*/\1/p' "$LOG_DIR/etcdwatch-manual.log" | tail -n 1
}

save_fairlead() {
	local entry=$T/entry.json
	cost --daemon "${PID[manual]}" "$FAIRLEAD" --runtime-dir "$T/run-manual" -o json etcd snapshot save
	cp "$T/out" "$entry"
	note fairlead save "$(taken_ms)" "${COST[daemon_cpu_ms]}" "${COST[daemon_rss_kib]}" \
		"${COST[daemon_anon_kib]}"
	sample "fairlead_idle_rss_kib_at_$SIZE" KiB "${COST[daemon_idle_kib]}"
	sample "fairlead_above_idle_rss_kib_at_$SIZE" KiB "$(calculate "${COST[tree_rss_kib]} - ${COST[daemon_idle_kib]}")"
	sample "fairlead_save_and_prove_wall_ms_at_$SIZE" ms "${COST[wall_ms]}"
	sample "fairlead_prove_cpu_ms_at_$SIZE" ms "${COST[child_cpu_ms]}"
	ln -f "$WORK/manual/$(jq -r .file "$entry")" "$WORK/snapshot.db"
	rm -f "$WORK"/manual/*.db "$WORK"/manual/*.json
}

# The client copies while the daemon's worker proves. The daemon keeps its own copy behind that.
save_file() {
	local ON=$OWN_CPU,$SERVER_CPU
	rm -f "$WORK/copy.db"
	cost "$FAIRLEAD" --runtime-dir "$T/run-manual" etcd snapshot save "$WORK/copy.db"
	sample "fairlead_save_file_wall_ms_at_$SIZE" ms "${COST[wall_ms]}"
	LAST[fairlead_save_file_wall_ms]=${COST[wall_ms]}
	wait_until 60 kept_all
	rm -f "$WORK/copy.db" "$WORK"/manual/*.db "$WORK"/manual/*.json
}

kept_all() {
	[[ $(fairlead manual -o json etcd snapshot jobs | jq -r .state) == idle ]]
}

cluster_words() { # NAME: of a cluster of one, on this machine
	echo --name "$1" --initial-cluster "$1=https://127.0.0.1:12380"
}

restore_fairlead() {
	local ON=$OWN_CPU,$SERVER_CPU
	rm -rf "$WORK"/restored*
	# shellcheck disable=SC2046
	cost "$FAIRLEAD" etcd restore --tool "$NEWER/etcdutl" --data-dir "$WORK/restored" $(cluster_words r1) \
		--yes "$WORK/snapshot.db"
	note fairlead restore "${COST[wall_ms]}" "${COST[cpu_ms]}" "${COST[rss_kib]}" "${COST[anon_kib]}"
}

restore_etcd() {
	local ON=$OWN_CPU,$SERVER_CPU
	rm -rf "$WORK"/restored*
	# shellcheck disable=SC2046
	cost "$NEWER/etcdutl" snapshot restore --data-dir "$WORK/restored" $(cluster_words r1) \
		--initial-advertise-peer-urls https://127.0.0.1:12380 --bump-revision 1000000000 --mark-compacted \
		"$WORK/snapshot.db"
	note etcd_3.5 restore "${COST[wall_ms]}" "${COST[cpu_ms]}" "${COST[rss_kib]}" "${COST[anon_kib]}"
	cost "$FAIRLEAD" etcd snapshot verify --no-digest "$WORK/restored/member/snap/db"
	sample "fairlead_read_back_wall_ms_at_$SIZE" ms "${COST[wall_ms]}"
	LAST[floor_restore_wall_ms]=$(calculate "${LAST[etcd_3.5_restore_wall_ms]} + ${COST[wall_ms]}")
}

save_etcd() { # SUBJECT PROGRAM
	rm -f "$WORK/$1.db"
	cost "$2" --endpoints "$URL" --cacert "$PKI/etcd-ca.crt" --cert "$PKI/client.crt" \
		--key "$PKI/client.key" --command-timeout 300s snapshot save "$WORK/$1.db"
	note "$1" save "${COST[wall_ms]}" "${COST[cpu_ms]}" "${COST[rss_kib]}" "${COST[anon_kib]}"
	rm -f "$WORK/$1.db"
}

measure() { # SUBJECT FIGURE COMMAND...
	local subject=$1 figure=$2
	shift 2
	cost "$@"
	note "$subject" "$figure" "${COST[wall_ms]}" "${COST[cpu_ms]}" "${COST[rss_kib]}" "${COST[anon_kib]}"
}

# In another order each round.
in_turn() { # ROUND COMMAND...
	local round=$1 i
	shift
	for ((i = 0; i < $#; i++)); do
		eval "${*:1 + (round + i) % $#:1}"
	done
}

ratios() { # FIGURE NAME NUMERATOR DENOMINATOR QUANTITY...
	local figure=$1 name=$2 other what
	for other in etcd_3.4 etcd_3.5; do
		for what in "${@:5}"; do
			LAST[fairlead]=${LAST[fairlead_${figure}_$what]}
			LAST[other]=${LAST[${other}_${figure}_$what]}
			sample "fairlead_${figure}_${what%_*}_${name}_${other}_at_$SIZE" x "$(calculate "${LAST[$3]} / ${LAST[$4]}")"
		done
	done
}

round() { # ROUND
	local other file=$WORK/snapshot.db
	say "$SIZE MB, round $1"
	in_turn "$1" save_fairlead "save_etcd etcd_3.4 /usr/bin/etcdctl" "save_etcd etcd_3.5 $NEWER/etcdctl" save_file
	ratios save to fairlead other wall_ms cpu_ms rss_kib anon_kib
	for other in etcd_3.4 etcd_3.5; do
		sample "fairlead_save_file_wall_to_${other}_at_$SIZE" x \
			"$(calculate "${LAST[fairlead_save_file_wall_ms]} / ${LAST[${other}_save_wall_ms]}")"
	done
	in_turn "$1" "measure fairlead status $FAIRLEAD etcd snapshot status $file" \
		"measure etcd_3.4 status /usr/bin/etcdctl snapshot status $file" \
		"measure etcd_3.5 status $NEWER/etcdutl snapshot status $file"
	ratios status faster_than other fairlead wall_ms cpu_ms
	measure fairlead verify "$FAIRLEAD" etcd snapshot verify "$file"
	in_turn "$1" restore_fairlead restore_etcd
	sample "fairlead_restore_wall_to_floor_at_$SIZE" x \
		"$(calculate "${LAST[fairlead_restore_wall_ms]} / ${LAST[floor_restore_wall_ms]}")"
	rm -rf "$WORK"/restored*
}

# The database, the tools' files, and what etcd logs.
has_room() {
	[[ $(df --output=avail -m "$WORK" | tail -n 1) -gt $((6 * SIZE + 2000)) ]] || fail "too little room for $SIZE MB"
}

at_size() {
	local run runs=$RUNS
	# What takes that long varies less.
	[[ $SIZE -lt 1000 || $RUNS -le 3 ]] || runs=3
	say "a database of $SIZE MB"
	has_room
	fill "$SIZE"
	sample "fairlead_db_bytes_at_$SIZE" B "$(db_bytes)"
	for ((run = 1; run <= runs; run++)); do
		round "$run"
	done
	[[ $SIZE -ne ${SIZES[0]} ]] || STATUS_RSS_LEAST=${LAST[fairlead_status_rss_kib]}
	[[ $SIZE -ne $SINGLE ]] || at_that_size_only
}

at_that_size_only() {
	local run
	say "a drill"
	for ((run = 1; run <= (RUNS + 2) / 3; run++)); do
		cost "$FAIRLEAD" etcd drill --file "$WORK/snapshot.db"
		sample fairlead_drill_wall_ms ms "${COST[wall_ms]}"
		[[ -z $QUICK ]] || return 0
	done
	say "by schedule"
	watch_start minutely "* * * * *"
	proven
	proven
	signal TERM minutely
	wait_exit 60 minutely
}

is_proven() {
	compgen -G "$WORK/minutely/*.json" >"$T/proven"
}

# From the full minute to when the entry was there.
proven() {
	local minute
	rm -f "$WORK"/minutely/*.json "$WORK"/minutely/*.db
	minute=$(($(date +%s) / 60 * 60 + 60))
	wait_until 180 is_proven
	sample fairlead_proven_ms ms "$(calculate "($(stat -c %.6Y "$(head -n 1 "$T/proven")") - $minute) * 1000")"
}

goals() {
	local other size
	for size in "${SIZES[@]}"; do
		# Of less, starting a program is most.
		[[ $size -ge 50 ]] || continue
		for other in etcd_3.4 etcd_3.5; do
			cat <<-GOALS
				fairlead_save_wall_to_${other}_at_$size goal median <= 1.0
				fairlead_save_cpu_to_${other}_at_$size goal median <= 1.0
				fairlead_save_rss_to_${other}_at_$size goal median <= 1.0
				fairlead_save_anon_to_${other}_at_$size goal median <= 1.0
				fairlead_status_wall_faster_than_${other}_at_$size goal median >= 3
				fairlead_status_cpu_faster_than_${other}_at_$size goal median >= 3
				fairlead_save_file_wall_to_${other}_at_$size goal median <= 1.2
			GOALS
		done
		echo "fairlead_restore_wall_to_floor_at_$size goal median <= 1.2"
		echo "fairlead_above_idle_rss_kib_at_$size goal max <= 16384"
	done
	echo "fairlead_status_rss_growth_kib goal max <= 1024"
}

peers() {
	local program
	for program in /usr/bin/etcdctl "$NEWER/etcdctl"; do
		"$program" version | sed -n 's/^etcdctl version:/etcdctl/p'
	done
	dpkg-query -W -f 'gRPC ${Version}\n' 'libgrpc[0-9]*' | sed -n 's/\(gRPC [0-9][0-9.]*\).*/\1/p' | head -n 1
}

tidy
mkdir -p "$WORK"
peers >"$PEERS"
say "an etcd"
pki
etcd_up
watch_start manual "0 0 1 1 *"
for SIZE in "${SIZES[@]}"; do
	at_size
done
sample fairlead_status_rss_growth_kib KiB $((LAST[fairlead_status_rss_kib] - STATUS_RSS_LEAST))
signal TERM manual
wait_exit 20 manual

awk -v per=100 -f "$ROOT/bench/median.awk" -f "$ROOT/bench/slope.awk" "$SAMPLES" >"$T/slopes"
cat "$T/slopes" >>"$SAMPLES"
{
	awk -v columns="fairlead etcd_3.4 etcd_3.5" -f "$ROOT/bench/median.awk" -f "$ROOT/bench/compare.awk" "$SAMPLES"
	goals | cat "$SAMPLES" - | awk -v bench=snapshot -v strip=fairlead_ -v table=no -f "$ROOT/bench/figures.awk"
} >"$RESULT"
