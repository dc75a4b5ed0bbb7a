#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two nodes are held up, one after the other, while they take the snapshot of a period: one in the middle
# of the stream, one with a whole file that is about to be proven. A third one takes it and is recorded.
# The two come back, each as if the period were still its own: neither writes the record, nor leaves a
# double.
. "$(dirname "$0")/lib-etcdwatch.sh"

DONE=fairlead/v1/etcdwatch/minutely/done/

# A worker proves nothing in the directory of a node while DIRECTORY.hold is there.
hold_of() { # NODE
	echo "$(etcdwatch_directory "$1").hold"
}

worker_up() {
	install -D -m 755 "$BUILD/bin/etcdwatch-worker" "$T/bin/real-worker"
	cat >"$T/bin/etcdwatch-worker" <<-SCRIPT
		#!/bin/sh
		while [ "\$1" = prove ] && [ -e "\$(dirname "\$2").hold" ]; do sleep 0.1; done
		exec "$T/bin/real-worker" "\$@"
	SCRIPT
	chmod 755 "$T/bin/etcdwatch-worker"
}

# A node, of those that are not held up yet, that is at it so, or nothing.
taker_in() { # STATE
	local node
	for node in "${NODES[@]}"; do
		[[ " ${held[*]} " != *" $node "* ]] && job_is "$node" .state "$1" && echo "$node" && return
	done
	return 1
}

the_lease() { # the claim's: there is no other
	etcd_ctl lease list | grep -x '[0-9a-f]*'
}

revoked() { # LEASE
	local leases
	etcd_ctl lease revoke "$1" || true
	leases=$(etcd_ctl lease list) && [[ $leases != *$1* ]]
}

# As if its lease had run out, which takes 15 s.
claim_ends() {
	wait_until 20 the_lease
	wait_until 20 revoked "$(the_lease)"
}

record() { # of the period: its revision, and what it says
	etcd_ctl get --prefix "$DONE" --write-out json | jq -c '[.kvs[] | [.mod_revision, .value]]'
}

nothing_more() {
	[[ $(record) == "$recorded" && $(n_entries) -eq 1 ]]
}

held=()
EW_SCHEDULE="0 * * * *" # the period does not end meanwhile
cluster_of_etcd
fill_etcd 80 100000
worker_up
for node in "${NODES[@]}"; do
	slow_member "$node"
	: >"$(hold_of "$node")"
done

say "one is stopped in the middle of the stream"
etcdwatch_start "${NODES[@]}"
wait_until 40 taker_in taking
first=$(taker_in taking)
wait_until 20 has_some_bytes "$first"
signal STOP "etcdwatch-$first"
held=("$first")
for node in "${NODES[@]}"; do
	inside "$node" tc qdisc delete dev lo root
done
claim_ends

say "the next is stopped with a whole file"
wait_until 40 taker_in proving
second=$(taker_in proving)
signal STOP "etcdwatch-$second"
held=("$first" "$second")
claim_ends

say "the third takes it, and is recorded"
third=$(node_other_than "${held[@]}")
rm "$(hold_of "$third")"
wait_until 40 has_entries 1 "$third"
wait_until 20 job_is "$third" .period_done true
recorded=$(record)
expect_equal "who is recorded" "$(etcd_ctl get --prefix "$DONE" --print-value-only | jq -r .node)" "$third"

say "both come back: one is recorded, and one is there"
rm "$(hold_of "$first")" "$(hold_of "$second")"
signal CONT "etcdwatch-$first"
signal CONT "etcdwatch-$second"
for node in "${held[@]}"; do
	wait_until 40 job_is "$node" .period_done true
	expect_equal "who has taken it, as $node sees it" "$(job "$node" .done_by)" "$third"
	wait_until 20 job_is "$node" .state idle
	expect_equal "what $node has of its own" "$(find "$(etcdwatch_directory "$node")" -name '*.db*')" ""
done
for_seconds 1 nothing_more
entries_are_sound "$third"
