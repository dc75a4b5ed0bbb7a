#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timed: what an observer sees of gaps is only as fine as the machine lets it
# The stories are worth what their witness is worth. Here addresses are set by hand, by turns right
# and wrong, and the observer and its judge must see each for what it is: one owner, a clean move, a
# gap, two owners at once, a single late word; by ARP and by neighbour discovery, and by who terminates
# TCP, where a node that lost the address goes on with what it translated.
. "$(dirname "$0")/lib.sh"

OVERLAP_MS=100000 # overlaps are made on purpose here

judge() { # OPTION...
	wire_settle
	# shellcheck disable=SC2046
	"$TOOLS/observer_check" "$@" $(wire_logs) >"$T/verdict"
}

judge_breaks() { # PATTERN OPTION...
	local pattern=$1 code=0
	shift
	judge "$@" || code=$?
	[[ $code -eq 1 ]] && grep -q "BROKEN: .*$pattern" "$T/verdict" && return
	cat "$T/verdict"
	return 1
}

address_add() { # NODE
	# As vipd does: never a source address, which masquerading would take.
	ip -n "$1" address add "$VIP" dev eth0 $([[ $VIP != *:* ]] || echo nodad preferred_lft 0)
}

address_delete() { # NODE
	local length=32
	[[ $VIP != *:* ]] || length=128
	ip -n "$1" address delete "$VIP/$length" dev eth0
}

answers_from() { # NODE
	tail -n 2 "$(wire_log)" | has_line "answer $(node_mac "$1")"
}

# It serves the pod's ports, and refuses its own.
refuses() { # NODE
	sort -n "$(tcp_log)" | awk -v mac="$(node_mac "$1")" '
		/ mark refused$/ { at = $1 }
		at && $2 == "serve" && $3 == mac { served[$4]++ }
		END { exit !(served["hostport"] && !served["direct"]) }'
}

# By this path n1 still answered half a second later.
went_on() { # PATH
	sort -n "$(tcp_log)" | awk -v mac="$(node_mac n1)" -v path="$1" '
		/ mark translated$/ { at = $1 }
		at && $1 > at + 500000 && $2 == "serve" && $3 == mac && $4 == path && $5 == "held" { found = 1 }
		END { exit !found }'
}

lan_up
tcp_up
for VIP in 10.86.0.100 fd86::100; do
	say "$VIP: nobody has it"
	observe
	observe_tcp
	for_seconds 1 true
	code=0
	judge || code=$?
	expect_equal "the judge on silence" "$code" 2

	say "$VIP: n1 has it"
	address_add n1
	wait_until 10 answers_from n1
	wait_until 10 tcp_answers n1 "$VIP" "${TCP_DIRECT[@]}"
	mark_all n1
	for_seconds 1 answers_from n1
	expect "one owner is fine" judge --from n1 --max-overlap-ms 0 --max-gap-ms 800 \
		--expect-moves 0 --max-owners 1

	say "$VIP: a clean move to n2"
	mark_all move
	address_delete n1
	address_add n2
	wait_until 10 answers_from n2
	for_seconds 1 answers_from n2
	expect "a clean move is fine" judge --from move --max-overlap-ms 0 --max-gap-ms 800 \
		--expect-moves 1 --max-owners 2

	say "$VIP: n2 loses it for a second"
	mark_all gap
	address_delete n2
	for_seconds 1 true
	address_add n2
	wait_until 10 answers_from n2
	expect "the gap is seen" judge_breaks "nobody answered" --from gap --max-gap-ms 300

	say "$VIP: n1 and n2 at once"
	mark_all both
	address_add n1
	for_seconds 1 true
	address_delete n1
	expect "the overlap is seen" judge_breaks "overlap by" --from both --max-overlap-ms 300

	say "$VIP: n1 for a moment"
	for_seconds 2 answers_from n2
	mark_all word
	address_add n1
	nap 0.02
	address_delete n1
	for_seconds 1 answers_from n2
	expect "a moment is seen" judge_breaks "overlap by" --from word --max-overlap-ms 0
	address_delete n2
done

# Not `dnat`: each node does that, also without the address.
translated=("${TCP_PATHS[@]:1:1}" "${TCP_PATHS[@]:3}")
pods_up
for VIP in 10.86.0.101 fd86::101; do
	say "$VIP: n1 has it, with ports that it translates"
	observe
	observe_tcp "$VIP" "${TCP_DIRECT[@]}" "${translated[@]}"
	address_add n1
	wait_until 10 tcp_answers n1 "$VIP" "${TCP_DIRECT[@]}" "${translated[@]}"
	expect "one owner by each path is fine" judge --max-overlap-ms 0 --max-owners 1

	say "$VIP: n1 goes on with what it translated after n2 has it"
	mark_all translated
	address_delete n1
	address_add n2
	wait_until 10 answers_from n2
	for_seconds 1 answers_from n2
	expect "the overlap is seen" judge_breaks "overlap by" --from translated --max-overlap-ms 300
	for path in "${translated[@]%=*}"; do
		# Redirected IPv6 has the address itself for a destination, and ends with it.
		[[ $path == redirect && $VIP == *:* ]] || expect "$path" went_on "$path"
	done

	say "$VIP: n2 refuses connections to its own port"
	kill_hard server-n2
	mark_all refused
	for_seconds 1 answers_from n2
	wire_settle
	expect "a reset is no answer" refuses n2
	tcp_serve n2
	address_delete n2
done
