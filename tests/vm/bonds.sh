# SPDX-License-Identifier: Apache-2.0
# A node with cables to a switch, and what tells how a change went:
#
#   n1:p1..pN ---- sw:q1..qN
#
# The switch joins its ends to a bond of its own or to a bridge; the far end of the node's network,
# 10.1.0.254/24 and fd01::254/64, is on it. What a change disturbed, two witnesses say: the kernel's
# messages about links, and a ping that goes on all the time.

# Emulation is slow, on a machine that is busy besides.
export FAIRLEAD_TIMEOUT=90

cables_new() { # N
	local i
	for ns in sw n1; do
		ip netns add "$ns"
		ip -n "$ns" link set lo up
		inside "$ns" sysctl -qw net.ipv6.conf.{all,default}.accept_dad=0
	done
	for ((i = 1; i <= $1; i++)); do
		echo "link add p$i netns n1 type veth peer name q$i netns sw"
	done | ip -batch -
}

# The switch's ends as ports of one link.
far_new() { # NAME KIND [OPTION...]: then, behind --, the numbers of the cables
	local name=$1 options=() i
	shift
	while [[ $1 != -- ]]; do
		options+=("$1")
		shift
	done
	shift
	{
		echo "link add $name type ${options[*]}"
		for i in "$@"; do
			echo "link set q$i down"
			echo "link set q$i master $name"
			echo "link set q$i up"
		done
		echo "link set $name up"
	} | ip -n sw -batch -
}

far_address() { # LINK IPV4 [IPV6]
	ip -n sw address add "$2" dev "$1"
	[[ -z ${3:-} ]] || ip -n sw address add "$3" dev "$1"
}

# It has been applied, the kernel refused nothing, and nothing is left to do.
apply_once() { # NAME
	netconf_once "$1" || fail "netconf --once: $(tail -n 1 "$LOG_DIR/netconf-once.log")"
	! grep -m 1 step_refused "$LOG_DIR/netconf-once.log" >&"$OUT_FD" || fail "a step was refused"
	expect_nothing_left "$1"
}

expect_nothing_left() { # NAME
	expect_equal "what is left to do after $1" "$(netconf_in_state "$1" --plan)" "nothing to do"
}

# The dearest class of the steps that it would take.
class_of() { # NAME
	netconf_in_state "$1" --plan --json >"$LOG_DIR/plan.json"
	jq -rs 'last.class' "$LOG_DIR/plan.json"
}

# "KEY=VALUE ..." in the order asked for, as ip(8) tells a bond's or a VLAN's options.
options_of() { # LINK KEY...
	local link=$1
	shift
	ip -n n1 -d -j link show "$link" | jq -r --args \
		'.[0].linkinfo.info_data as $d | $ARGS.positional | map("\(.)=\($d[.] | if type == "array" then join(",") else . end)") | join(" ")' \
		"$@"
}

# The options are as ip(8) tells them. A kernel that has no such option tells nothing of it.
expect_options() { # LINK KEY=VALUE...
	local link=$1 keys=() expected=() option
	shift
	for option in "$@"; do
		is_lacking "${option%%=*}" || {
			keys+=("${option%%=*}")
			expected+=("$option")
		}
	done
	expect_equal "options of $link" "$(options_of "$link" "${keys[@]}")" "${expected[*]}"
}

# Options of bonds that came after 5.10: as ip(8) and as the configuration calls them.
LATE_OPTIONS='ad_lacp_active arp_missed_max ns_ip6_target'
LATE_KEYS='adLACPActive|missedMax|nsIp6Targets'

is_lacking() { # OPTION
	[[ " $LATE_OPTIONS " == *" $1 "* ]] && kernel_is_before 5 18
}

kernel_is_before() { # MAJOR MINOR
	local major minor rest
	IFS=.- read -r major minor rest <<<"$(uname -r)"
	[[ $major -lt $1 || ($major -eq $1 && $minor -lt $2) ]]
}

# A configuration without what the kernel lacks.
as_kernel_can() {
	if kernel_is_before 5 18; then
		grep -vE "^($LATE_KEYS):" || true
	else
		cat
	fi
}

ports_of() { # LINK
	ip -n n1 -j link show master "$1" | jq -r 'map(.ifname) | sort | join(" ")'
}

# What others must find again. Which address a port goes by is its bond's business, and a link that
# was made anew has another number.
network_at_rest() {
	wait_until 60 is_at_rest
	network | sed 's/^[0-9]*: //; / master /s| link/ether [0-9a-f:]*||' | sort
}

expect_network() { # FILE
	network_at_rest >"$LOG_DIR/now"
	expect "all is as it was before" diff "$1" "$LOG_DIR/now" >&"$OUT_FD"
}

# A connection to an echo at the far end, over which lines go and come back.
talk_start() { # IPV4
	spawn echo sw socat "TCP-LISTEN:7,bind=$1,reuseaddr" EXEC:cat
	wait_until 30 eval 'inside sw ss -Hltn | grep -q :7'
	coproc TALK { nsenter --net=/run/netns/n1 socat -t 600 - "TCP:$1:7"; }
	TALK_IN=${TALK[1]} TALK_OUT=${TALK[0]}
	talk_goes_on
}

talk_goes_on() {
	local line
	TALK_N=$((${TALK_N:-0} + 1))
	echo "line $TALK_N" >&"$TALK_IN"
	read -r -t 60 line <&"$TALK_OUT" || fail "the connection is dead"
	expect_equal "what came back" "$line" "line $TALK_N"
}

# --- witnesses ---

witness_start() { # [ADDRESS]
	: >"$LOG_DIR/links.log"
	: >"$LOG_DIR/ping.log"
	spawn links n1 ip -o monitor link route
	wait_until 30 links_are_told
	[[ $# -eq 0 ]] || spawn ping n1 ping -n -i 0.1 "$1"
	: >"$LOG_DIR/links.log"
}

witness_end() {
	kill_hard ping links
}

# What they saw up to now does not count.
witness_anew() {
	wait_until 30 links_are_told
	: >"$LOG_DIR/links.log"
}

# Messages come in their order: with this one all before it are there.
links_are_told() {
	ip -n n1 -batch - <<<"link add mark type dummy
link delete mark"
	nap 0.2
	grep -q '^Deleted.* mark:' "$LOG_DIR/links.log"
}

# What the kernel told of a link that had no carrier, or was down.
outages_of() { # LINK
	wait_until 30 links_are_told
	grep -E "^[0-9]+: $1[:@].*(NO-CARRIER|state DOWN|state LOWERLAYERDOWN)" "$LOG_DIR/links.log" || true
}

# A port that left its bond, if only for a moment.
releases_of() { # PORT BOND
	wait_until 30 links_are_told
	grep -E "^[0-9]+: $1[:@]" "$LOG_DIR/links.log" | grep -v " master $2 " || true
}

# Routes that went away or came, if only to come back, of those that the pattern is about. IPv4's go
# without a word when their link goes down, but come back with one.
routes_moved() { # PATTERN
	wait_until 30 links_are_told
	grep -E "^(Deleted )?($1) " "$LOG_DIR/links.log" || true
}

# How many answers are missing between the first and the last that came.
pings_lost() {
	sed -n 's/.*icmp_seq=\([0-9]*\) .*time=.*/\1/p' "$LOG_DIR/ping.log" |
		awk 'NR == 1 { first = $1 } { last = $1; n++ } END { print n ? last - first + 1 - n : "all" }'
}

ping_has_gone_on() {
	local now
	now=$(grep -c 'time=' "$LOG_DIR/ping.log" || true)
	[[ $now -gt $((PINGS_BEFORE + 2)) ]]
}

# Nothing was disturbed since the witnesses were there.
expect_no_outage() { # BOND PORT...
	local bond=$1 port
	PINGS_BEFORE=$(grep -c 'time=' "$LOG_DIR/ping.log" || true)
	wait_until 30 ping_has_gone_on
	expect_equal "outages of $bond" "$(outages_of "$bond")" ""
	shift
	for port in "$@"; do
		expect_equal "outages of $port" "$(outages_of "$port")" ""
		expect_equal "releases of $port" "$(releases_of "$port" "$bond")" ""
	done
	expect_equal "answers lost" "$(pings_lost)" 0
}
