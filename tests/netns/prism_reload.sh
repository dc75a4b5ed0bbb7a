#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# prism is reloaded hundreds of times under load (FAIRLEAD_RELOADS), and then half as often with every
# check of memory that the compiler knows (an ASan build, where there is one). The program is replaced by
# another one on the way, which takes over as any reload does. No connection is lost and no request
# fails, and no scrape of its metrics either. Told to end, it ends what it has begun.
. "$(dirname "$0")/lib-prism.sh"

PRISM_MORE='---
apiVersion: fairlead/v1
kind: NodeConfig
metrics: {prism: "127.0.0.1:9651"}'

RELOADS=${FAIRLEAD_RELOADS:-200}
ASAN_RELOADS=$((RELOADS / 2))

# Reads the log as it grows, without a process: there are many turns to wait for.
started_once_more() {
	local line end=$(($(now_cs) + 1000))
	while [[ $(now_cs) -lt $end ]]; do
		if ! read -r line <&"$LOG_FD"; then
			nap 0.005
		elif [[ $line == *event=starting* ]]; then
			return
		fi
	done
	fail "prism did not start anew within 10 s"
}

# Clients get as much time as it took to start: a process that does nothing but start serves nobody.
reload() { # TIMES
	local i began took_us
	for ((i = 0; i < $1; i++)); do
		began=${EPOCHREALTIME/./}
		kill -HUP "$pid"
		started_once_more
		took_us=$((${EPOCHREALTIME/./} - began))
		nap "$((took_us / 1000000)).$(printf %06d $((took_us % 1000000)))"
	done
	wait_until 10 prism_answers
}

# Passes over what has been said so far.
forget_starts() {
	local line
	while read -r line <&"$LOG_FD"; do :; done
}

replace_program() {
	forget_starts
	prism_install
	reload 1
	expect "it runs the new program" \
		[ "$(stat -Lc %i "/proc/$pid/exe")" = "$(stat -c %i "$T/bin/prism")" ]
}

# Until $T/scraped is there; says how often, and all that went wrong.
scrape() {
	local n=0
	until [[ -e $T/scraped ]]; do
		inside cl curl --silent --show-error --fail --max-time 20 --output "$T/page" http://127.0.0.1:9651/metrics ||
			echo "scrape $n failed"
		n=$((n + 1))
		nap 0.02
	done
	echo "$n scrapes"
}

prism_before_servers
pid=${PID[prism-cl]}
exec {LOG_FD}<"$LOG_DIR/prism-cl.log"
started_once_more
client_start open open --rate 20 $ASK_VERSION
client_start kept kept --connections 20 --every 200 $ASK_VERSION
client_start still kept --connections 20 --every 0 $ASK_VERSION
client_spawn long open --rate 2 --timeout 20000 $ASK_LONG

scrape >"$LOG_DIR/scrape.log" 2>&1 &
scraper=$!

say "$RELOADS reloads"
reload "$RELOADS"

say "as fast as signals can be sent"
for ((i = 0; i < 100; i++)); do
	kill -HUP "$pid"
	nap "0.0$((i % 3))$((i % 7))"
done
wait_until 10 prism_answers

say "a configuration that cannot be read"
printf 'kind: PrismConfig\n' >"$T/prism-cl.yaml"
signal HUP prism-cl
for_seconds 1 prism_answers
prism_configure

say "one that is put right while prism still reads it"
forget_starts
mv "$T/prism-cl.yaml" "$T/right.yaml"
printf 'kind: PrismConfig\n' >"$T/prism-cl.yaml"
mkfifo -m 666 "$T/has-read" "$T/may-end"
mv "$T/bin/prism" "$T/bin/prism-at-once"
cat >"$T/bin/prism" <<-END
	#!/bin/sh
	"$T/bin/prism-at-once" "\$@"
	code=\$?
	echo "\$code" >"$T/has-read"
	read -r _ <"$T/may-end"
	exit "\$code"
END
chmod 755 "$T/bin/prism"
signal HUP prism-cl
read -r code <"$T/has-read" # waits for it
expect_equal "it was wrong" "$code" 1
mv "$T/right.yaml" "$T/prism-cl.yaml"
mv "$T/bin/prism-at-once" "$T/bin/prism"
signal HUP prism-cl
echo >"$T/may-end"
started_once_more
wait_until 10 prism_answers

[[ ! -x $BUILD/asan/bin/prism ]] || PRISM=$BUILD/asan/bin/prism
say "$PRISM takes its place, and $ASAN_RELOADS reloads of that"
replace_program
reload "$ASAN_RELOADS"
touch "$T/scraped"
wait "$scraper"
expect "its metrics were there all the time, $(tail -n 1 "$LOG_DIR/scrape.log")" \
	grep -qxE '[0-9]{2,} scrapes' "$LOG_DIR/scrape.log"
expect_equal "failed scrapes" "$(grep -c -e failed -e curl "$LOG_DIR/scrape.log")" 0
client_stop open
client_stop kept
client_stop still
client_stop long
expect_all_well open 100
expect_all_well kept 200
expect_all_well still 40
expect_all_well long 10
expect_equal "connections that were lost" "$(($(client_figure kept '.closed_idle + .stale') +
	$(client_figure still .closed_idle)))" 0
expect_equal "its process" "${PID[prism-cl]}" "$pid"

say "it is told to end"
client_start kept kept --connections 5 --every 0 $ASK_VERSION
client_start open open --rate 100 $ASK_VERSION
signal TERM prism-cl
wait_exit 10 prism-cl
expect_equal "exit code of prism" "$EXIT_CODE" 0
client_stop open
client_stop kept
expect_all_well open 1 refused
expect_equal "connections that were closed while silent" "$(client_figure kept .closed_idle)" 5
