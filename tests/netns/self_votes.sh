#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the story of etcd's elections excuses: a break for a moment behind a first vote that elected nobody, by the members'
# own logs, and nothing else. The lines are those of etcd 3.4 and 3.5.
set -euo pipefail
# shellcheck source=tests/netns/lib/votes.sh
. "$(dirname "$0")/lib/votes.sh"

stands() { # MEMBER TERM
	echo "{\"level\":\"info\",\"caller\":\"raft/raft.go:719\",\"msg\":\"$1 became candidate at term $2\"}"
}
leads() { # MEMBER TERM
	echo "{\"level\":\"info\",\"logger\":\"raft\",\"caller\":\"etcdserver/zap_raft.go:77\",\"msg\":\"$1 became leader at term $2\"}"
}
hears() { # MEMBER LEADER TERM
	echo "{\"level\":\"info\",\"caller\":\"raft/node.go:327\",\"msg\":\"raft.node: $1 elected leader $2 at term $3\"}"
}

nothing() { :; }
at_once() { stands a1 7 && leads a1 7 && hears b2 a1 7; }
# The logs of two members behind each other.
both_stood() { stands a1 7 && stands a1 8 && leads a1 8 && stands b2 7 && hears b2 a1 8; }
not_yet() { stands a1 9 && hears a1 b2 10 && stands b2 10 && leads b2 10; }
# The first one elected somebody, a later one did not: the killed member stood when it came back.
later() { at_once && stands c3 8 && stands c3 9 && leads c3 9; }
# A term that begins like another.
tenth() { stands a1 1 && leads a1 10 && stands a1 10; }

expect() { # WORD LOG OWNER_BEFORE OWNERS_AFTER MOVES GAP_MS
	local got
	got=$(judge_election "${@:3}" 100 <("$2"))
	[[ $got == "$1" ]] || {
		echo "FAILED: $2, ${*:3}: '$got', expected '$1'"
		exit 1
	}
	echo "$1: $2, ${*:3}"
}

for log in nothing at_once both_stood; do
	expect kept "$log" n1 n1 0 0
	expect kept "$log" n1 n1 0 99.9
	expect kept "$log" n1 n1 0 100
	expect broken "$log" n1 n2 1 0
	expect broken "$log" n1 n2 1 900
	expect broken "$log" n1 n1 2 170
	expect broken "$log" n1 "" 0 170
	expect broken "$log" n1 "n1 n2" 0 0
done
for log in both_stood not_yet tenth; do
	expect stated "$log" n1 n1 0 100.1
	expect stated "$log" n1 n1 0 912
	expect stated "$log" n1 n1 0 5100
	expect broken "$log" n1 n1 0 5100.1
	expect broken "$log" n1 n1 0 20000
done
for log in nothing at_once later; do
	expect broken "$log" n1 n1 0 100.1
	expect broken "$log" n1 n1 0 912
done
