#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The node that takes the snapshot is killed in the middle of it, etcdwatch alone: another one takes
# the same period, and what the first had half written is gone when it is back.
. "$(dirname "$0")/lib-etcdwatch.sh"

# Loopback of every node carries 1 MB/s, so that a snapshot of some megabytes lasts.
slow_loopback() {
	local node
	for node in "${NODES[@]}"; do
		slow_member "$node"
	done
}

fast_loopback() {
	local node
	for node in "${NODES[@]}"; do
		inside "$node" tc qdisc delete dev lo root
	done
}

# The node that has begun to write, or nothing.
taker() {
	local node found=
	for node in "${NODES[@]}"; do
		[[ -z $(find "$(etcdwatch_directory "$node")" -name '.taking-*' -size +0 2>/dev/null) ]] || found=$node
	done
	[[ -n $found ]] && echo "$found"
}

cluster_of_etcd
fill_etcd 80 100000
slow_loopback
EW_SCHEDULE="0 * * * *" # the period does not end meanwhile

say "a snapshot is being taken"
etcdwatch_start "${NODES[@]}"
wait_until 30 taker
first=$(taker)
period=$(job "$first" .period)
expect_equal "what $first does" "$(job "$first" .state)" taking

say "etcdwatch on $first is killed"
kill_hard "etcdwatch-$first"
fast_loopback
expect "what it had written should be there" test -n "$(find "$(etcdwatch_directory "$first")" -name '.taking-*')"
expect_equal "snapshots" "$(n_entries)" 0

say "another node takes the same period"
others=()
for node in "${NODES[@]}"; do
	[[ $node == "$first" ]] || others+=("$node")
done
wait_until 50 has_entries 1 "${others[@]}"
second=$(entries "${others[@]}" | jq -r .member.name)
wait_until 10 job_is "$second" .period_done true
etcd_ctl get --prefix --keys-only fairlead/v1/etcdwatch/minutely/done/ | has_line . || fail "it is not recorded"
recorded=$(etcd_ctl get --prefix fairlead/v1/etcdwatch/minutely/done/ --print-value-only | head -n 1 | jq -r .node)
expect_equal "who is recorded" "$recorded" "$second"
entries_are_sound "${others[@]}"

say "$first is back: it clears up, and takes no second one"
etcdwatch_start "$first"
wait_until 30 job_is "$first" .period_done true
[[ $(job "$first" .period) != "$period" ]] || expect_equal "snapshots" "$(n_entries)" 1
expect_equal "what is left half taken on $first" \
	"$(find "$(etcdwatch_directory "$first")" -name '.taking-*' | wc -l)" 0
