# SPDX-License-Identifier: Apache-2.0
# One node whose network is configured, and a switch with two legs:
#
#   n1:eth0 10.1.0.1/24 ---- sw:leg0 10.1.0.254/24, fd01::254
#   n1:eth1             ---- sw:leg1 10.2.0.254/24
#
# netconf's program and where it keeps what it must not forget:
NETCONF=${NETCONF:-$BUILD/bin/netconf}

# The node as it comes from the factory: links that are up, and nothing else.
node_new() {
	local i
	[[ -e /run/netns/sw ]] || {
		ip netns add sw
		ip -n sw link set lo up
		inside sw sysctl -qw net.ipv6.conf.default.accept_dad=0
	}
	ip netns add n1
	ip -n n1 link set lo up
	inside n1 sysctl -qw net.ipv6.conf.default.accept_dad=0 net.ipv6.conf.all.accept_dad=0
	for i in 0 1; do
		ip -n n1 link add "eth$i" type veth peer name "leg$i" netns sw
		ip -n n1 link set "eth$i" up
		ip -n sw address add "10.$((i + 1)).0.254/24" dev "leg$i"
		ip -n sw address add "fd0$((i + 1))::254/64" dev "leg$i"
		ip -n sw link set "leg$i" up
	done
}

# The configuration is what stands on standard input.
config_write() { # NAME
	cat >"$T/$1.yaml"
}

netconf() { # ARGUMENT...
	# shellcheck disable=SC2086
	inside n1 timeout "${FAIRLEAD_TIMEOUT:-20}" ${WRAP:-} "$NETCONF" "$@"
}

# Each configuration has a state folder of its own, or what was confirmed would be applied; what is
# ours without a mark is ours whichever is applied.
netconf_in_state() { # NAME ARGUMENT...
	local name=$1 code=0
	shift
	mkdir -p "$T/once-$name"
	[[ ! -e $T/owned.json ]] || cp "$T/owned.json" "$T/once-$name/"
	netconf --config "$T/$name.yaml" --state-dir "$T/once-$name" "$@" || code=$?
	[[ ! -e $T/once-$name/owned.json ]] || cp "$T/once-$name/owned.json" "$T/"
	return "$code"
}

netconf_once() { # NAME [ARGUMENT...]
	netconf_in_state "$1" --once --wait 0s "${@:2}" >>"$LOG_DIR/netconf-once.log" 2>&1
}

# All that others must find again: what there is of addresses, routes, rules and links, without what
# only says how it stands, and without what IPv6 does by itself in its own time.
network() {
	{
		ip -n n1 -o link show | sed 's/ qlen [0-9]*//; s/ state [A-Z]*//; s/LOWER_UP//; s/NO-CARRIER,//'
		ip -n n1 -o address show | sed 's/ tentative//; s/ valid_lft .*//'
		ip -n n1 -d route show table all
		ip -n n1 -6 -d route show table all
		ip -n n1 rule show
		ip -n n1 -6 rule show
	} | grep -Ev 'fe80|ff00|anycast' | sort
}

reaches() { # ADDRESS
	inside n1 ping -c 1 -W 1 "$1" >/dev/null
}

# What the kernel does by itself after a change (IPv6 on a link that has just got its carrier) is over.
is_at_rest() {
	local before
	before=$(what_comes_to_rest)
	nap 1.2
	[[ $before == "$(what_comes_to_rest)" ]]
}

# What is left of a lifetime never does.
what_comes_to_rest() {
	ip -n n1 -o address show | sed 's/ valid_lft .*//'
	ip -n n1 -o link show
	ip -n n1 -6 route show table all
}

# Writes that somebody made, as the kernel tells of them: every message of a monitor is a line.
monitor_start() {
	: >"$LOG_DIR/monitor.log"
	wait_until 30 is_at_rest
	spawn monitor n1 ip monitor link address route rule
	# It says nothing until something happens: a route of the loopback that comes and goes.
	wait_until 10 monitor_is_awake
	wait_until 10 monitor_is_silent
	: >"$LOG_DIR/monitor.log"
}

monitor_is_awake() {
	ip -n n1 route add blackhole 192.0.2.255/32
	ip -n n1 route delete blackhole 192.0.2.255/32
	[[ -s $LOG_DIR/monitor.log ]]
}

# Once a mark that comes after all else is there.
monitor_is_silent() {
	ip -n n1 route add blackhole 192.0.2.254/32
	ip -n n1 route delete blackhole 192.0.2.254/32
	nap 0.3
	[[ $(tail -n 1 "$LOG_DIR/monitor.log") == *192.0.2.254* ]]
}

# What it heard, without the mark and without what the neighbours do by themselves.
monitor_heard() {
	wait_until 10 monitor_is_silent
	grep -v '192\.0\.2\.25[45]' "$LOG_DIR/monitor.log" || true
}

# --- the daemon ---

# Its folders outlive it, as on a disk.
netconf_start() {
	mkdir -p "$T/run-n1"
	# shellcheck disable=SC2086
	spawn netconf n1 ${WRAP:-} "${NETCONF_DAEMON:-$NETCONF}" --config "$T/files" --runtime-dir "$T/run-n1" --state-dir "$T/state"
	wait_until 20 netconf_answers
}

netconf_answers() {
	fairlead n1 -o json net status
}

status_is() { # JQ-FILTER VALUE
	[[ $(fairlead n1 -o json net status 2>/dev/null | jq -r "$1") == "$2" ]]
}

guard_pid() {
	pgrep -o -f -- "--guard .* --state-dir $T/state"
}

nobody_guards() {
	[[ -z $(guard_pid) ]]
}

# The change in $T/NAME.yaml is applied and waits to be confirmed.
apply() { # NAME [OPTION...]
	local name=$1
	shift
	FAIRLEAD_TIMEOUT=60 fairlead n1 net apply "$@" "$T/$name.yaml" >>"$LOG_DIR/apply.log" 2>&1
}

is_before() { # what `network` said in $LOG_DIR/before, but for what $1 says is another's and new
	diff <(cat "$LOG_DIR/before") <(network) >"$LOG_DIR/difference" 2>&1
}
