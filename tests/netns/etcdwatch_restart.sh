#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# waits: for what is due to be taken
# etcdwatch is stopped on all nodes while a period begins: the first that is back takes it. A node that
# is restarted within a period that has its snapshot takes none. With every-node each has its own, and
# none depends on the others. All clocks of etcdwatch are moved to where a minute begins.
. "$(dirname "$0")/lib-etcdwatch.sh"

stop_all() {
	local node
	for node in "${NODES[@]}"; do
		signal TERM "etcdwatch-$node"
	done
	for node in "${NODES[@]}"; do
		wait_exit 10 "etcdwatch-$node"
		expect_equal "exit code of $node" "$EXIT_CODE" 0
	done
}

all_done() {
	local node
	for node in "${NODES[@]}"; do
		job_is "$node" .period_done true || return 1
	done
}

cluster_of_etcd
fill_etcd 10
clock_own DONT_FAKE_MONOTONIC=1
clock_forward_to "$(clock_next_minute)"
etcdwatch_start "${NODES[@]}"
wait_until 30 all_done
expect_equal "snapshots" "$(n_entries)" 1
period=$(job n1 .period)

say "a restart within the period"
stop_all
etcdwatch_start "${NODES[@]}"
wait_until 30 all_done
[[ $(job n1 .period) != "$period" ]] || expect_equal "snapshots" "$(n_entries)" 1

say "nobody is there when the next period begins"
stop_all
before=$(n_entries)
clock_forward_to "$(clock_next_minute)"
etcdwatch_start "${NODES[@]}"
wait_until 30 all_done
expect_equal "snapshots" "$(n_entries)" $((before + 1))
entries_are_sound "${NODES[@]}"

say "every node for itself"
stop_all
rm -rf "$T"/snapshots-*
clock_forward_to "$(clock_next_minute)"
EW_TAKER=every-node
etcdwatch_start "${NODES[@]}"
for node in "${NODES[@]}"; do
	wait_until 30 has_entries 1 "$node"
	wait_until 10 job_is "$node" .period_done true
	expect_equal "whose member it is from" "$(entries "$node" | jq -r .member.name)" "$node"
done
entries_are_sound "${NODES[@]}"
