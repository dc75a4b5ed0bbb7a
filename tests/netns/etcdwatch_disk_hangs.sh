#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The disk of the node that takes the snapshot hangs: nothing that it writes comes back. After the time
# without progress it closes the stream and gives the period back, and another node takes it. What the
# member would send meanwhile is not taken into memory. When the disk moves again, what was half taken
# goes, and there is no double.
ETCDWATCH=${BUILD:-$(dirname "$0")/../../build}/tests/fault/etcdwatch
. "$(dirname "$0")/lib-etcdwatch.sh"

hang_of() { # NODE
	echo "$(etcdwatch_directory "$1").hang"
}

taker() { # the node that takes one, or nothing
	local node
	for node in "${NODES[@]}"; do
		! job_is "$node" .state taking || {
			echo "$node"
			return
		}
	done
	return 1
}

has_bytes() { # NODE
	[[ $(job "$1" .taken_bytes) -gt 0 ]]
}

# Their local ends, sorted: to one's own member and the like, and a stream with a connection of its own.
connections() { # NODE
	inside "$1" ss -Htn state established "( dport = :2379 )" | awk '{ print $3 }' | sort
}

kib() { # NODE FIELD
	sed -n "s/^$2:[[:space:]]*\([0-9]*\) kB/\1/p" "/proc/${PID[etcdwatch-$1]}/status"
}

# Of malloc, beside the first: each is a reserve of 64 MiB, of which the threads that have it use little and keep that.
arenas() { # NODE
	awk '$2 ~ /^[r-][w-][x-]p$/ { reserve = $2 == "---p" && $6 == "" } $1 == "Size:" && reserve && $2 > 32 * 1024 { n++ }
		END { print n + 0 }' "/proc/${PID[etcdwatch-$1]}/smaps"
}

# Others may have come meanwhile.
one_has_closed() { # NODE CONNECTIONS
	[[ -n $(comm -23 <(echo "$2") <(connections "$1")) ]]
}

EW_SCHEDULE="0 * * * *" # the period does not end meanwhile
# Its connections are looked at before it gives up.
! sanitizers_are_on || EW_NO_PROGRESS=20s
cluster_of_etcd
fill_etcd 80 100000

say "the node that takes it has a disk that hangs"
for node in "${NODES[@]}"; do
	: >"$(hang_of "$node")"
	FAIRLEAD_TEST_HANG=$(etcdwatch_directory "$node") etcdwatch_start "$node"
done
wait_until 40 taker
first=$(taker)
expect "its log should say so" log_says "etcdwatch-$first" 'event=period_claimed '
wait_until 20 has_bytes "$first"
streaming=$(connections "$first")
! log_says "etcdwatch-$first" event=disk_hangs || fail "it gave up before anybody could look at its stream"
others=()
for node in "${NODES[@]}"; do
	[[ $node == "$first" ]] || {
		others+=("$node")
		rm "$(hang_of "$node")"
	}
done

say "it gives up after the time without progress, as far as it can"
wait_until 30 log_says "etcdwatch-$first" '^<3>event=disk_hangs .*has not moved for'
fairlead "$first" etcd snapshot jobs | has_line "has not moved for" || fail "it is not shown"
expect_equal "what it does" "$(job "$first" .state)" taking
wait_until 10 one_has_closed "$first" "$streaming"

say "and what the member had to send did not come into its memory"
peak=$(kib "$first" VmHWM) rest=$(kib "${others[0]}" VmRSS)
say "at its highest $peak KiB, where another that took none has $rest"
# docs/snapshots.md, and what the two differ by anyway; sanitizers keep what is freed for a while.
room=2560
! sanitizers_are_on || room=6144
[[ $peak -lt $((rest + room)) ]] || fail "$peak KiB at its highest, where another that took none has $rest"
sanitizers_are_on || expect_equal "what threads keep for themselves" "$(arenas "$first")" 0

say "another node takes the same period"
wait_until 40 has_entries 1 "${others[@]}"
for node in "${others[@]}"; do
	wait_until 20 job_is "$node" .period_done true
done
entries_are_sound "${others[@]}"
done_by=$(job "${others[0]}" .done_by)
[[ $done_by != "$first" ]] || fail "it is recorded as $first's"

say "the disk moves again: no double"
rm "$(hang_of "$first")"
wait_until 40 job_is "$first" .period_done true
expect_equal "who has taken it" "$(job "$first" .done_by)" "$done_by"
wait_until 10 job_is "$first" .state idle
expect_equal "snapshots" "$(n_entries)" 1
expect_equal "what is left half taken" "$(find "$(etcdwatch_directory "$first")" -name '.taking-*' | wc -l)" 0
