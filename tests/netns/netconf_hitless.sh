#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is called hitless is: over a connection that is open all the time no segment is lost, every
# question is answered, and there is no moment without a default route, while that moves to another
# gateway, to another metric, and back, and while addresses, routes, rules and MTUs change. What is
# not called so costs what it says: the link of the operator becomes the port of a bridge, and is none
# again when nobody confirms it, and the connection lives on.
. "$(dirname "$0")/lib-netconf.sh"

node_new
mkdir -p "$T/files"
# Behind both gateways.
ip -n sw address add 10.1.0.253/24 dev leg0
ip -n sw address add fd01::253/64 dev leg0
ip -n sw address add 10.9.9.9/32 dev lo
ip -n sw address add fd09::9/128 dev lo
# The end of a talk there is what answers of n1 go to by the default route.
cat >"$T/talk" <<'SH'
exec {nap}<> <(:)
for ((n = 1; ; n++)); do
	echo "line $n"
	read -r line && [[ $line == "line $n" ]] || exit 1
	echo "$n" >&2
	read -r -t 0.005 -u "$nap"
done
SH

write() { # NAME METRIC GATEWAY [LINE...]
	local name=$1 metric=$2 gateway=$3
	shift 3
	{
		cat <<-YAML
			apiVersion: v1alpha1
			kind: LinkConfig
			name: eth0
			addresses:
			  - address: 10.1.0.1/24
			  - address: fd01::1/64
			routes:
			  - gateway: 10.1.0.$gateway
			    metric: $metric
			  - gateway: fd01::$gateway
			    metric: $metric
		YAML
		printf '%s\n' "$@"
	} | config_write "$name"
}

# --- witnesses ---

questions_start() { # NAME ADDRESS
	spawn "$1" n1 ping -n -i 0.005 "$2"
}

# How many answers are missing before the last that came.
answers_lost() { # NAME
	sed -n 's/.*icmp_seq=\([0-9]*\) .*time=.*/\1/p' "$LOG_DIR/$1.log" |
		awk '$1 > last { last = $1 } { n++ } END { print n ? last - n : "all" }'
}

answered() {
	grep -c 'time=' "$LOG_DIR/$1.log" || true
}

has_answers_since() { # NAME N
	[[ $(answered "$1") -gt $(($2 + 20)) ]]
}

# Lines that come back over one connection, one after the other. What is lost of it is sent again after
# the SECONDS, and not before.
talk_start() { # NAME PORT SECONDS
	for ns in n1 sw; do
		inside "$ns" sysctl -qw net.ipv4.tcp_early_retrans=0 "net.ipv4.tcp_rto_min_us=$(($3 * 1000000))"
	done
	spawn "echo-$1" n1 socat "TCP-LISTEN:$2,reuseaddr" EXEC:cat
	wait_until 20 listens "$2"
	spawn "$1" sw socat "TCP:10.1.0.1:$2,bind=10.9.9.9" "EXEC:$BASH $T/talk"
	wait_until 20 has_said "$1" 5
}

listens() { # PORT
	inside n1 ss -Hltn "sport = :$1" | has_line .
}

said() { # NAME
	wc -l <"$LOG_DIR/$1.log"
}

has_said() { # NAME N
	[[ $(said "$1") -ge $2 ]]
}

retransmitted() { # NS
	inside "$1" nstat -asz TcpRetransSegs | awk '/Retrans/ { print $2 }'
}

# The moments without any default route, as the kernel told of their coming and going.
gaps() {
	monitor_heard | grep -E '^(Deleted )?default ' | awk '
		BEGIN { n["4"] = n["6"] = 1; there["4 100"] = there["6 100"] = 1 }
		{
			family = $0 ~ /via fd/ ? "6" : "4"
			match($0, /metric [0-9]+/)
			key = family " " substr($0, RSTART + 7, RLENGTH - 7)
			now = $1 != "Deleted"
			n[family] += now - there[key]
			there[key] = now
			if (n[family] == 0)
				print
			told++
		}
		END { if (told < 8) print "only " told + 0 " messages" }'
}

none_is_lost() {
	local v4 v6 talk
	v4=$(answered v4) v6=$(answered v6) talk=$(said talk)
	wait_until 20 has_answers_since v4 "$v4"
	wait_until 20 has_answers_since v6 "$v6"
	wait_until 20 has_said talk $((talk + 20))
	expect_equal "answers of IPv4 that are missing" "$(answers_lost v4)" 0
	expect_equal "answers of IPv6 that are missing" "$(answers_lost v6)" 0
	expect_equal "segments sent again" "$(retransmitted n1) $(retransmitted sw)" "0 0"
}

class_is() { # NAME CLASS
	netconf --plan --json --config "$T/$1.yaml" >"$LOG_DIR/plan.json"
	expect_equal "what $1 costs" "$(jq -rs 'last.class' "$LOG_DIR/plan.json")" "$2"
}

change() { # NAME
	apply "$1"
	fairlead n1 net confirm >/dev/null
}

netconf_start
write first 100 254
apply first
fairlead n1 net confirm >/dev/null
wait_until 20 reaches fd01::254
questions_start v4 10.9.9.9
questions_start v6 fd09::9
talk_start talk 9000 60
monitor_start

say "the default route goes to another gateway"
write gateway 100 253
class_is gateway hitless
change gateway
expect "it is the other one" grep -q 'default via 10.1.0.253' <(ip -n n1 route show)
none_is_lost

say "it has another metric, and not the old one any more"
write metric 50 253
change metric
expect_equal "default routes" "$(ip -n n1 route show default | wc -l)" 1
none_is_lost

say "both at once, and undone"
write both 70 254
apply both
expect "it is the first one again" grep -q 'default via 10.1.0.254 .* metric 70' <(ip -n n1 route show)
none_is_lost
fairlead n1 net rollback >/dev/null
expect "it is the other one again" grep -q 'default via 10.1.0.253 .* metric 50' <(ip -n n1 route show)
none_is_lost
expect_equal "moments without a default route" "$(gaps)" ""

say "whatever else costs nothing"
write more 50 253 '    mtu: 1400' '  - {destination: 10.20.0.0/16, gateway: 10.1.0.254}' 'mtu: 1450' --- \
	'apiVersion: v1alpha1' 'kind: BridgeConfig' 'name: br1' 'addresses: [{address: 10.3.0.1/24}]' --- \
	'apiVersion: v1alpha1' 'kind: RoutingRuleConfig' 'name: "1000"' 'src: 10.3.0.0/24' 'table: 100' --- \
	'apiVersion: v1alpha1' 'kind: BlackholeRouteConfig' 'name: 10.66.0.0/16'
class_is more hitless
apply more
none_is_lost
fairlead n1 net rollback >/dev/null
none_is_lost

say "an address beside the one in use comes and goes"
sed -i 's|  - address: 10.1.0.1/24|&\n  - address: 10.1.0.5/24\n  - address: 10.5.0.1/24|' "$T/more.yaml"
change more
none_is_lost
change metric
none_is_lost
kill_hard v4 v6 talk echo-talk

say "the operator's link becomes the port of a bridge: the connection lives on"
talk_start ssh 9001 1
write bridge 50 253
sed -i 's/^kind: LinkConfig/kind: BridgeConfig/; s/^name: eth0/name: br0\nlinks: [eth0]/' "$T/bridge.yaml"
SSH_CONNECTION='10.1.0.254 40000 10.1.0.1 22' class_is bridge management-path
network >"$LOG_DIR/before"
apply bridge
expect "the default route" grep -q 'default via 10.1.0.253 dev br0' <(ip -n n1 route show)
expect_equal "nothing stays on the port" "$(ip -n n1 -o address show to 10.1.0.1 dev eth0)" ""
wait_until 20 has_said ssh $(($(said ssh) + 20))

say "nobody confirms it, and it is undone: the connection lives on"
fairlead n1 net rollback >/dev/null
expect "all could be undone" status_is .last.left_undone ""
wait_until 20 is_before
wait_until 20 has_said ssh $(($(said ssh) + 20))
