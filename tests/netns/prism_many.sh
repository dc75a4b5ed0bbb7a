#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# busy: with connections
# Eight thousand connections that only lie there, and others that come and go beside them. Memory,
# descriptors and pipes stay where they are, and the probe process gives back what a check took.
. "$(dirname "$0")/lib-prism.sh"

PRISM_LISTEN="127.0.0.1:7445"
PRISM_CLIENTS="--to 127.0.0.1:7445"
PRISM_LIMITS="--nofile=20000:20000"
MANY=8000

rss_kb() {
	awk '$1 == "Rss:" { print $2 }' "/proc/${PID[prism-cl]}/smaps_rollup"
}

fds() {
	find "/proc/${PID[prism-cl]}/fd" -mindepth 1 | wc -l
}

churn() { # NAME
	client_run "$1" open --rate 400 --seconds 3 --echo 2000
	expect_all_well "$1" 1000
}

settled() { # CONNECTIONS
	[[ $(prism_figure .connections) -eq $1 ]]
}

memory_at_most() { # WHAT GOT LIMIT
	if sanitizers_are_on; then
		not_judged "$1" "a sanitizer has its own beside each block"
	else
		expect_at_most "$@"
	fi
}

# As the system is told of it.
probe_gives_back() {
	local what="what the probe process gives back"
	if sanitizers_are_on; then
		not_judged "$what" "a sanitizer keeps what is free"
		return
	fi
	spawn strace-cl cl strace -qq -e trace=madvise -o "$T/madvise" -p "$(pgrep -P "${PID[prism-cl]}" -x prism-probe)"
	wait_until 30 grep -sq MADV_DONTNEED "$T/madvise"
	signal INT strace-cl
	wait_exit 10 strace-cl
}

ulimit -n 20000
lan_with_servers
for node in "${NODES[@]}"; do
	odd_start "$node" --mode echo
done
prism_start
wait_until 5 all_ready
churn before
wait_until 5 settled 0
rss_none=$(rss_kb)
fds_none=$(fds)

say "a check is over"
probe_gives_back

say "$MANY connections, none of which says more than hello"
client_spawn idle kept --connections $MANY --every 0 --echo 100 --timeout 20000
wait_until 30 log_says client-idle ' holding '
wait_until 5 settled $MANY
rss_idle=$(rss_kb)
fds_idle=$(fds)
say "$rss_none kB before, $rss_idle kB with them: $(((rss_idle - rss_none) * 1024 / MANY)) bytes each"
memory_at_most "memory of a connection, bytes" $(((rss_idle - rss_none) * 1024 / MANY)) 512
expect_at_most "descriptors beyond two a connection" $((fds_idle - fds_none - 2 * MANY)) 0

say "others come and go"
churn beside
wait_until 5 settled $MANY
memory_at_most "growth of memory, kB" $(($(rss_kb) - rss_idle)) 512
expect_equal "descriptors" "$(fds)" "$fds_idle"
expect_at_most "pipes" "$(prism_figure .pipes)" 64

say "all of them still work"
client_stop idle
expect_all_well idle $((2 * MANY))
wait_until 5 settled 0
expect_equal "descriptors" "$(fds)" "$fds_none"
