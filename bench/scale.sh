#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How much all nodes of a large cluster ask of one API server, while all is well and when it restarts: a
# thousand nodes in a model that has prism's own code for when to ask (bench/tools/scale), and fifty
# real prism processes beside fifty of the model, in front of three API servers; with --quick twenty, and
# all five times as fast. Run by bench/run.
#   steady_*    while all is well; *_peak_*: in the busiest second, or in the busiest ten
#   starting_*  the API server is back and says that it is not ready
#   after_*     it is ready again; *_to_mean: in terms of steady_per_s
#   *_know_after  until half of the nodes, or all, have seen it
#   refused_*   while it refuses connections, which costs it nothing
# Each node of model_1000 has four connections, all of them quiet; the real ones and those beside them have none.
# model_1000_hurry is how prism would be if it asked each second although others serve.

# shellcheck source=tests/netns/lib/begin.sh
. "$(cd "$(dirname "$0")" && pwd)/../tests/netns/lib/begin.sh"
VIP='' T=/run/story
NODES=(n1 n2 n3)
use world topology pki api prism

SCALE=$BUILD/bench/scale
REAL=50 PEAK=after_peak_in_10s
INTERVAL_MS=10000 SUSPECT_MS=1000 STEADY_S=60 DOWN_S=30 AFTER_S=40
[[ -z $QUICK ]] || REAL=20 PEAK=after_peak_per_s RUNS=${RUNS:-1} INTERVAL_MS=2000 SUSPECT_MS=200 STEADY_S=8 DOWN_S=4 AFTER_S=8
SEEDS=${RUNS:-20}
PRISM_HEALTH="interval: ${INTERVAL_MS}ms
suspectInterval: ${SUSPECT_MS}ms"

goals() {
	cat <<-GOALS
		model_1000_steady_per_s goal max <= 250
		model_1000_starting_peak_to_mean goal max <= 3
		model_1000_after_peak_to_mean goal max <= 3
		model_1000_after_5s_peak_to_mean goal max <= 3
		model_1000_after_60s_peak_to_mean goal max <= 3
		prism_${REAL}_steady_to_model goal median >= 0.9
		prism_${REAL}_steady_to_model goal median <= 1.1
		prism_${REAL}_after_to_model goal median <= 1.3
	GOALS
}

sample() { # NAME UNIT VALUE
	echo "$1 $2 $3" >>"$SAMPLES"
}

# The figures of the model, each with a seed of its own.
model() { # NAME OPTION...
	local name=$1 seed
	shift
	for ((seed = 1; seed <= SEEDS; seed++)); do
		"$SCALE" simulate --seed "$seed" "$@" | sed "s/^/${name}_/" >>"$SAMPLES"
	done
}

# Of another length of the outage there is one figure.
model_outage() { # SECONDS
	local seed
	for ((seed = 1; seed <= SEEDS; seed++)); do
		"$SCALE" simulate --seed "$seed" --down "$1" --starting 0 |
			sed -n "s/^after_peak_to_mean/model_1000_after_$1s_peak_to_mean/p" >>"$SAMPLES"
	done
}

# Real ones. All on one host, each with a port of its own.
real_start() {
	local i
	for ((i = 1; i <= REAL; i++)); do
		PRISM_LISTEN="127.0.0.1:$((7500 + i))"
		prism_configure "p$i"
		prism_spawn "p$i"
		nap "$(awk "BEGIN { print $INTERVAL_MS / 1000 / $REAL }")"
	done
	wait_until 60 all_know 1
}

# Each has found n1 ready so many times.
all_know() { # TIMES
	[[ $(cat "$LOG_DIR"/prism-p*.log | grep -c 'upstream=10.86.0.11:6443 .* new=ready') -ge $((REAL * $1)) ]]
}

now_s() {
	printf '%s\n' "$EPOCHREALTIME"
}

# Requests for /readyz that n1 has answered: by the second, between two times.
answered() { # FROM SECONDS
	awk -v from="$1" -v seconds="$2" '$4 == "/readyz" && $1 >= from && $1 < from + seconds {
			n[int($1 - from)]++
		}
		END {
			for (s = 0; s < seconds; s++)
				print n[s] + 0
		}' "$T/api-n1/access.log"
}

# The most in so many seconds that follow each other, for each of them.
busiest() { # SECONDS
	awk -v seconds="$1" '{ n[NR] = $1 }
		END {
			for (i = seconds; i <= NR; i++) {
				sum = 0
				for (k = 0; k < seconds; k++)
					sum += n[i - k]
				most = sum > most ? sum : most
			}
			print most / seconds
		}'
}

real() {
	local began fell ready all
	say "$REAL real ones start"
	real_start
	for_seconds $((2 * INTERVAL_MS / 1000)) true
	say "all is well"
	began=$(now_s)
	for_seconds "$STEADY_S" true
	say "n1 dies for $DOWN_S s"
	fell=$(now_s)
	api_stop n1
	for_seconds "$DOWN_S" true
	say "and is back"
	ready=$(now_s)
	api_start n1
	wait_until "$AFTER_S" all_know 2
	all=$(now_s)
	while [[ ${EPOCHREALTIME%.*} -lt $((${ready%.*} + AFTER_S)) ]]; do
		nap 0.2
	done
	sample "prism_${REAL}_steady_per_s" 1/s "$(answered "$began" "$STEADY_S" | awk '{ n += $1 } END { print n / NR }')"
	sample "prism_${REAL}_steady_peak_per_s" 1/s "$(answered "$began" "$STEADY_S" | busiest 1)"
	sample "prism_${REAL}_after_peak_per_s" 1/s "$(answered "$ready" "$AFTER_S" | busiest 1)"
	[[ $AFTER_S -lt 10 ]] || sample "prism_${REAL}_after_peak_in_10s" 1/s "$(answered "$ready" "$AFTER_S" | busiest 10)"
	sample "prism_${REAL}_all_know_after" s "$(awk "BEGIN { print $all - $ready }")"
	expect_equal "requests while it was gone" "$(answered "$fell" "$DOWN_S" | tail -n +2 | awk '{ n += $1 } END { print n }')" 0
}

median_of() { # NAME
	awk -v name="$1" '$1 == name { print $3 }' "$SAMPLES" | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

compare() { # FIGURE NAME
	sample "prism_${REAL}_$2_to_model" x \
		"$(awk "BEGIN { print $(median_of "prism_${REAL}_$1") / $(median_of "model_${REAL}_$1") }")"
}

world_enter "$@"
SAMPLES=$T/samples
say "a thousand in the model"
model model_1000
for outage in 5 60; do
	model_outage "$outage"
done
model model_1000_hurry --hurry
say "$REAL in the model"
model "model_$REAL" --nodes "$REAL" --interval-ms "$INTERVAL_MS" --suspect-ms "$SUSPECT_MS" --steady "$STEADY_S" \
	--down "$DOWN_S" --starting 0 --after "$AFTER_S" --clients 0 --connections 0
lan_with_servers
api_up
real
compare steady_per_s steady
compare "$PEAK" after

{
	awk -v columns="model_1000 model_1000_hurry model_$REAL prism_$REAL" -f "$ROOT/bench/median.awk" -f "$ROOT/bench/compare.awk" "$SAMPLES"
	goals | cat "$SAMPLES" - | awk -v bench=scale -v table=no -f "$ROOT/bench/figures.awk"
} >"$RESULT"
