#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The VIP is routed: BIRD runs on each node with the configuration of docs/bgp.md, and on a router, behind
# which the client is. The router learns the route of whoever owns the VIP, also when that is moved; and
# when vipd is killed or stopped the kernel silences the address in time, removes it, and BIRD withdraws
# it. A restart withdraws nothing. An IPv6 VIP does as the other one. Never do two next hops both answer,
# whatever the router knows.
# waits: for windows to end
VIP=192.0.2.10
VIP6=2001:db8::10
VIPS="$VIP $VIP6"
VIP_LINK=vip0
POLICY='announce: bgp'
. "$(dirname "$0")/lib.sh"

LAN_OF_CLIENT=198.51.100

# The client is not on the LAN but behind the router.
router_up() {
	host_up rt
	inside rt sysctl -qw net.ipv4.ip_forward=1
	ip netns add far
	ip -n far link set lo up
	ip -n rt link add eth1 type veth peer name eth0 netns far
	ip -n rt link set eth1 up
	ip -n far link set eth0 up
	ip -n rt address add "$LAN_OF_CLIENT.1/24" dev eth1
	ip -n far address add "$LAN_OF_CLIENT.2/24" dev eth0
	ip -n far route add default via "$LAN_OF_CLIENT.1"
	cat >"$T/bird-rt.conf" <<-CONF
		router id 10.86.0.51;
		protocol device { }
		protocol kernel { ipv4 { import none; export all; }; }
		protocol bgp nodes {
			local as 64513;
			neighbor range 10.86.0.0/24 as 64512;
			dynamic name "node";
			passive;
			ipv4 { import all; export none; };
		}
		protocol bgp nodes6 {
			local as 64513;
			neighbor range fd86::/64 as 64512;
			dynamic name "six";
			passive;
			ipv6 { import all; export none; };
		}
	CONF
	bird_start rt
}

bird_start() { # HOST
	spawn "bird-$1" "$1" bird -f -c "$T/bird-$1.conf" -s "$T/bird-$1.ctl" -P "$T/bird-$1.pid"
}

node_routes() { # NODE
	# A kernel without dummies: any link that is there will do.
	ip -n "$1" link add vip0 type bridge
	ip -n "$1" link set vip0 up
	ip -n "$1" route add "$LAN_OF_CLIENT.0/24" via 10.86.0.51
	sed -n '/^```bird$/,/^```$/{/^```/!p}' "$ROOT/docs/bgp.md" >"$T/bird-$1.conf"
	# As the page says of IPv6.
	sed -i 's/^\tipv4;$/&\n\tipv6;/' "$T/bird-$1.conf"
	cat >>"$T/bird-$1.conf" <<-CONF
		protocol bgp uplink6 {
			local as 64512;
			neighbor fd86::51 as 64513;
			hold time 9;
			ipv6 {
				import none;
				export where source = RTS_DEVICE && net ~ [ 2001:db8::/64{128,128} ];
			};
		}
	CONF
	bird_start "$1"
}

# The next hops that the router knows for the VIP, best one or not.
router_knows() {
	birdc -s "$T/bird-rt.ctl" show route all for "$VIP" | sed -n 's/.*BGP.next_hop: 10\.86\.0\.//p' | sort | xargs
}

router_knows_only() { # NODE
	[[ $(router_knows) == "${NUMBER[$1]}" ]]
}

router_knows_6_only() { # NODE
	[[ $(birdc -s "$T/bird-rt.ctl" show route all for "$VIP6" | sed -n 's/.*BGP.next_hop: fd86::\([0-9]*\).*/\1/p' |
		sort | xargs) == "${NUMBER[$1]}" ]]
}

six() { # COMMAND...: about the IPv6 VIP
	local VIP=$VIP6
	"$@"
}

# The link by which routers deliver is of a kind that leads off the machine, which a veth is not.
eval "$(declare -f cable_plug | sed '1s/cable_plug/veth_plug/')"
cable_plug() { # HOST LINK BRIDGE
	if [[ $1 != n? || $2 != eth0 ]]; then
		veth_plug "$@"
		return
	fi
	veth_plug "$1" wire0 "$3"
	ip -n "$1" link add eth0 link wire0 type macvlan mode bridge
	ip -n "$1" link set eth0 up
}

# To each node by its own link of the client, whatever the router knows.
stale_routes() {
	local node address
	for address in $VIPS; do
		ip -n tcp route add "$address" dev eth0 via "$([[ $address == *:* ]] && echo fd86::51 || echo 10.86.0.51)"
		for node in "${NODES[@]}"; do
			ip -n tcp route add "$address" dev "$node" metric "$((2000 + NUMBER[$node]))"
		done
	done
}

PROBE=192.0.2.77 # nobody's

withdrawn() { # how often the router has withdrawn the VIP
	grep -c "^Deleted $VIP " "$LOG_DIR/routes.log" || true
}

far_reaches() { # NODE
	[[ $(inside far curl -s --max-time 1 "http://$VIP:8080/") == "$1" ]]
}

# Seconds after which the kernel itself takes the address away.
lifetime_left() { # NODE
	ip -n "$1" -j address show to "$VIP" | jq '[.[].addr_info[]? | .valid_life_time] | first // 0'
}

owner_died() { # FORMER
	local left last
	left=$(lifetime_left "$1")
	[[ $left -le 4 ]] || fail "the kernel keeps the address for $left s"
	wait_until 5 settled_on_other_than "$1"
	OWNER=$(holders)
	last=$(wire_figure old_last_ms --from "it is dead to $1")
	[[ ${last%.*} -le $BOUND_MS ]] || fail "$1 spoke for $last ms after that, bound $BOUND_MS ms"
	wait_until 5 router_knows_only "$OWNER"
	wait_until 2 far_reaches "$OWNER"
}

for node in "${NODES[@]}"; do
	WIRE_ASKS+=("--via=$(node_mac "$node")")
done
cluster_up
say "BIRD on the nodes and on a router"
router_up
for node in "${NODES[@]}"; do
	node_routes "$node"
done
say "clients of each node, and pods"
tcp_up
pods_up
stale_routes
spawn routes rt stdbuf -oL ip monitor route
observe
vipd_start "${NODES[@]}"
wait_until 15 settled
OWNER=$(holders)
BOUND_MS=$(status "$OWNER" .bound_ms)
expect_equal "how it is announced" "$(status "$OWNER" .announce)" bgp
wait_until 10 router_knows_only "$OWNER"
wait_until 5 far_reaches "$OWNER"
for address in $VIPS; do
	observe_tcp "$address" direct="$TCP_PORT" dnat=8002
done
wait_until 10 tcp_answers "$OWNER" "$VIP" direct dnat

say "$OWNER is told to move it away"
former=$OWNER
fairlead "$former" vip move "$VIP"
wait_until 3 settled_on_other_than "$former"
OWNER=$(holders)
wait_until 5 router_knows_only "$OWNER"
wait_until 2 far_reaches "$OWNER"
wire_check --from "$STEP" --max-overlap-ms 0 --expect-moves 1 --max-owners 2

say "the IPv6 VIP is moved, too"
six wait_until 15 settled
former=$(six holders)
wait_until 10 router_knows_6_only "$former"
fairlead "$former" vip move "$VIP6"
six wait_until 3 settled_on_other_than "$former"
wait_until 5 router_knows_6_only "$(six holders)"

say "vipd on $OWNER restarts, as for an upgrade"
# A route that goes is seen: one of the test's own, as a move may put one in another's place.
ip -n rt route add blackhole "$PROBE"
ip -n rt route delete blackhole "$PROBE"
wait_until 5 log_says routes "^Deleted.* $PROBE "
before=$(withdrawn)
signal USR2 "vipd-$OWNER"
wait_exit 5 "vipd-$OWNER"
vipd_start "$OWNER"
wait_until 10 settled
wait_until 10 router_knows_only "$(holders)"
# A machine that takes longer for it than the window is shows nothing.
if log_says "vipd-$OWNER" "vip_not_adopted vip=$VIP .*left_ms=-"; then
	OWNER=$(holders)
else
	expect "it stays" held_by "$OWNER"
	expect_equal "routes that the router has withdrawn" "$(withdrawn)" "$before"
	wire_check --from "$STEP" --expect-moves 0 --max-owners 1
fi

say "kill -9 of vipd on $OWNER"
former=$OWNER
kill_hard "vipd-$former"
mark_all "it is dead to $former"
owner_died "$former"
vipd_start "$former"
wait_until 10 settled_on "$OWNER"

say "vipd on $OWNER sleeps, and wakes up when another has it"
former=$OWNER
vipd_pause "$former"
mark_all "it is dead to $former"
owner_died "$former"
vipd_resume "$former"
wait_until 10 settled_on "$OWNER"
for_seconds 1 router_knows_only "$OWNER"
