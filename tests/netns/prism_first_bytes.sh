#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A server that accepts a client and says nothing, or breaks off: what the client said first goes to
# another one, byte by byte. A server that has said one byte is never replaced, and neither is one
# to which more was sent than prism holds. A slow one is left alone.
. "$(dirname "$0")/lib-prism.sh"

PRISM_UPSTREAMS="10.86.0.11:6443 10.86.0.12:6443"
PRISM_HEALTH="interval: 1s
suspectInterval: 100ms"
PRISM_MORE="connect:
  replayTimeout: 500ms"

# n1 is asked first: it is ready, and n2 only alive.
n1_comes_first() {
	wait_until 10 states_are n1=ready n2=alive
	n1_before=$(odd_visitors n1 plain)
	n2_before=$(odd_visitors n2 plain)
}

# A connection that is not a probe's, and of which nothing is known yet.
quiet_at() { # NODE
	local come known
	come=$(grep -c ' come conn=' "$LOG_DIR/odd-$1.log")
	known=$(grep -c ' open conn=' "$LOG_DIR/odd-$1.log")
	[[ $come -gt $known ]]
}

ask() { # OPTION...
	client_run ask open --rate 10 --count 1 "$@"
}

# Both servers got the same: all of what the client sent.
expect_replayed() { # BYTES
	local node
	expect_all_well ask 1
	expect_equal "clients that n1 saw" $(($(odd_visitors n1 plain) - n1_before)) 1
	expect_equal "clients that n2 saw" $(($(odd_visitors n2 plain) - n2_before)) 1
	"$TOOLS/apiclient" stream --bytes "$1" >"$T/sent"
	for node in n1 n2; do
		expect "$node got what was sent" cmp "$T/sent" "$(odd_received "$node" plain)"
	done
}

expect_not_replayed() {
	expect_equal "clients that n1 saw" $(($(odd_visitors n1 plain) - n1_before)) 1
	expect_equal "clients that n2 saw" $(($(odd_visitors n2 plain) - n2_before)) 0
}

lan_with_servers
odd_start n1 --mode silent --drip 50
odd_start n2 --mode echo --readyz 401
prism_start

say "n1 accepts and stays silent"
n1_comes_first
ask --echo 12000
expect_replayed 12000
expect_at_least "time that it took, ms" "$(client_figure ask .max_ms)" 500
expect_within_ms "time that it took" "$(client_figure ask .max_ms)" 800
expect_equal "replays to n2, or from n1" \
	"$(($(upstream_of n1 .replays) + $(upstream_of n2 .replays)))" 1
# What is no TLS proves nothing: any client could say half a word and wait.
expect_equal "state of n1" "$(upstream_of n1 .state)" ready

for mode in close reset; do
	say "n1 breaks off: $mode"
	odd_control n1 mode=$mode
	n1_comes_first
	ask --echo 517
	expect_replayed 517
	expect_within_ms "time that it took" "$(client_figure ask .max_ms)" 100
done

say "n1 says one byte, then nothing"
odd_control n1 mode=byte
n1_comes_first
ask --echo 500 --timeout 1500
expect_equal "answers that stopped" "$(client_figure ask .failures.stalled)" 1
expect_not_replayed

say "n1 answers a byte at a time"
odd_control n1 mode=drip
n1_comes_first
ask --echo 30
expect_all_well ask 1
expect_at_least "time that it took, ms" "$(client_figure ask .max_ms)" 1000
expect_not_replayed

say "n1 dies before a client has said a word"
odd_control n1 mode=echo
n1_comes_first
spawn talker cl bash -c "exec 3<>/dev/tcp/127.0.0.1/7445
	until [[ -e $T/speak ]]; do sleep 0.02; done
	echo hello >&3
	timeout 5 head -n 1 <&3"
wait_until 5 quiet_at n1
kill_hard odd-n1
touch "$T/speak"
wait_until 5 log_says talker hello
expect_equal "clients that n2 saw" $(($(odd_visitors n2 plain) - n2_before)) 1
odd_start n1 --mode silent

say "n1 is silent, and got more than prism holds"
odd_control n1 mode=silent
n1_comes_first
ask --echo 100000 --timeout 1500
expect_equal "answers that did not come" "$(client_figure ask .failures.timeout)" 1
expect_not_replayed

say "n1 is silent, and a real API server answers a real TLS client"
kill_hard odd-n2
api_start n2
api_answer n2 private
wait_until 10 states_are n1=ready n2=alive
client_run tls open --rate 20 --count 20 $ASK_VERSION
expect_all_well tls 20
expect_at_least "clients that n1 saw" "$(odd_visitors n1 tls)" 1
expect "n1 was found to be hung" log_says prism-cl '10.86.0.11:6443 old=ready new=hung'
