# SPDX-License-Identifier: Apache-2.0
# What a change of each class does to an open connection over the link that is changed: a number every
# 2 ms to an echo at the far end and back (bench/tools/talk). `none` is the same without a change: what
# the machine itself does.

# Segments of TCP at one end: sent for the first time, received, sent again.
segments() { # NS
	inside "$1" awk '/^Tcp: [0-9]/ { print $12, $11, $13 }' /proc/net/snmp
}

# How many came nowhere, of those sent in both directions, and how many were sent again: some of these
# for nothing, where the other end was slow.
lost_segments() { # BEFORE-n1 BEFORE-sw
	local n1 sw
	read -ra n1 <<<"$1 $(segments n1)"
	read -ra sw <<<"$2 $(segments sw)"
	AGAIN=$((n1[5] - n1[2] + sw[5] - sw[2]))
	LOST=$((n1[3] - n1[0] + sw[3] - sw[0] + AGAIN - (n1[4] - n1[1]) - (sw[4] - sw[1])))
}

echo_start() {
	spawn echo sw socat TCP-LISTEN:7,reuseaddr,nodelay,fork PIPE
	wait_until 30 eval 'inside sw ss -Hltn | grep -q :7'
}

has_connected() {
	grep -q connected "$T/talk"
}

# A change while the connection is open, from what CLASS-before.yaml says to CLASS.yaml.
outage() { # CLASS FAR-ADDRESS
	local before_n1 before_sw words word
	declare -A said
	apply_quietly "$1-before"
	wait_until 60 reaches "$2"
	[[ $1 == none ]] || expect_equal "what it costs" "$(class_of "$1")" "$1"
	before_n1=$(segments n1) before_sw=$(segments sw)
	: >"$T/talk"
	nsenter --net=/run/netns/n1 -- "$BUILD/bench/talk" "$2:7" >"$T/talk" 2>&1 </dev/null &
	PID[talk]=$!
	wait_until 30 has_connected
	nap 0.5
	[[ $1 == none ]] || apply_quietly "$1"
	nap 1
	alive talk || fail "the connection ended: $(tail -n 1 "$T/talk")"
	signal TERM talk
	wait_exit 60 talk
	expect_equal "how the connection ended ($(tail -n 1 "$T/talk"))" "$EXIT_CODE" 0
	read -ra words < <(tail -n 1 "$T/talk")
	for word in "${words[@]}"; do
		said[${word%%=*}]=${word#*=}
	done
	wait_until 30 nobody_talks
	lost_segments "$before_n1" "$before_sw"
	sample "outage_${SHAPE}_${1//-/_}_ms" ms "${said[longest_ms]}"
	sample "outage_${SHAPE}_${1//-/_}_lost" segments "$LOST"
	sample "outage_${SHAPE}_${1//-/_}_again" segments "$AGAIN"
}

# The last segment of the farewell has arrived.
nobody_talks() {
	[[ -z $(inside sw ss -Htn state connected exclude listening exclude time-wait) &&
		-z $(inside n1 ss -Htn state connected exclude time-wait) ]]
}

apply_quietly() { # NAME
	netconf_once "$1" || fail "netconf --once: $(tail -n 1 "$LOG_DIR/netconf-once.log")"
}

# The dearest class of the steps that it would take, for an operator at the far end of the first link.
class_of() { # NAME
	SSH_CONNECTION='10.1.0.254 40000 10.1.0.1 22' netconf --plan --json --config "$T/$1.yaml" >"$LOG_DIR/plan.json"
	jq -rs 'last.class' "$LOG_DIR/plan.json"
}

# --- one link, as any kernel has it ------------------------------------------------------------------

plain() { # LINK LINE...
	printf '%s\n' 'apiVersion: v1alpha1' 'kind: LinkConfig' "name: $1" 'up: true' "${@:2}" ---
}

bridged() { # LINK LINE...
	plain "$1"
	printf '%s\n' 'apiVersion: v1alpha1' 'kind: BridgeConfig' 'name: br0' "links: [$1]" "${@:2}" ---
}

outages_links_write() {
	local first='addresses: [{address: 10.1.0.1/24}]' second='addresses: [{address: 10.2.0.1/24}]'
	local way='routes: [{gateway: 10.1.0.254}]' i
	for i in none hitless blip address-break management-path; do
		{ plain eth0 "$first" "$way" && plain eth1 "$second"; } >"$T/$i-before.yaml"
	done
	{
		plain eth0 "$first" "$way"
		plain eth1 'mtu: 1400' 'addresses: [{address: 10.2.0.1/24}, {address: 10.2.0.2/24}, {address: "fd02::1/64"}]' \
			'routes: [{destination: 10.9.0.0/16, gateway: 10.2.0.254}]'
	} >"$T/hitless.yaml"
	{ plain eth0 "$first" "$way" && plain eth1 "$second" 'hardwareAddr: 02:00:00:00:00:77'; } >"$T/blip.yaml"
	{ plain eth0 "$first" "$way" && bridged eth1 "$second"; } >"$T/address-break.yaml"
	{ bridged eth0 "$first" "$way" && plain eth1 "$second"; } >"$T/management-path.yaml"
}

outages_links() {
	outages_links_write
	node_new
	echo_start
	outage none 10.2.0.254
	outage hitless 10.2.0.254
	outage blip 10.2.0.254
	outage address-break 10.2.0.254
	outage management-path 10.1.0.254
	kill_hard echo
}

# --- bonds -------------------------------------------------------------------------------------------

bonded() { # LINE...
	printf '%s\n' 'apiVersion: v1alpha1' 'kind: BondConfig' 'name: bond0' 'links: [p3, p4]' \
		'addresses: [{address: 10.2.0.1/24}]' 'routes: [{destination: 10.9.0.0/16, gateway: 10.2.0.254}]' "$@" ---
}

outages_bond_write() {
	local i way='routes: [{gateway: 10.1.0.254}]' first='addresses: [{address: 10.1.0.1/24}]'
	local backup=('bondMode: active-backup' 'miimon: 100')
	for i in none hitless blip address-break management-path; do
		{ plain p1 "$first" "$way" && bonded "${backup[@]}"; } >"$T/$i-before.yaml"
	done
	{ plain p1 "$first" "$way" && bonded 'bondMode: active-backup' 'miimon: 50' 'updelay: 100' 'primary: p3' 'numPeerNotif: 3'; } >"$T/hitless.yaml"
	{ plain p1 "$first" "$way" && bonded "${backup[@]}" 'failOverMac: active'; } >"$T/blip.yaml"
	{ plain p1 "$first" "$way" && bonded 'bondMode: balance-tlb' 'miimon: 100'; } >"$T/address-break.yaml"
	{
		printf '%s\n' 'apiVersion: v1alpha1' 'kind: BondConfig' 'name: bond1' 'links: [p1, p2]' "${backup[@]}" "$first" "$way" ---
		bonded "${backup[@]}"
	} >"$T/management-path.yaml"
}

outages_bond() {
	outages_bond_write
	cables_new 4
	far_new far0 bridge -- 1 2
	far_new far1 bridge -- 3 4
	far_address far0 10.1.0.254/24
	far_address far1 10.2.0.254/24
	echo_start
	outage none 10.2.0.254
	outage hitless 10.2.0.254
	outage blip 10.2.0.254
	outage address-break 10.2.0.254
	outage management-path 10.1.0.254
	kill_hard echo
}

outages() { # ROUNDS
	local round ns
	for ((round = 1; round <= $1; round++)); do
		say "an open connection, $SHAPE, round $round"
		for ns in n1 sw; do
			[[ ! -e /run/netns/$ns ]] || ip netns delete "$ns"
		done
		"outages_$SHAPE"
	done
}
