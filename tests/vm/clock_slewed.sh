#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# NTP slews the clock of a kernel as far as it can (docs/safety.md): that is by no more than vipd assumes, the
# owner's fence goes by it, and who waits for that fence does not. Both nodes have this kernel's clock, so it is
# fast while the one waits and slow while the other's fence runs out. Only in a virtual machine: the clock is
# everybody's who is on the kernel.
# by hand: it changes the machine's clock, beside which no other story holds
. "$(dirname "$0")/lib.sh"

VIPD=${VIPD:-$BUILD/bin/vipd}
SLEWCLOCK=$BUILD/tests/tools/slewclock
WINDOW_US=10000000
PERIOD_S=4 # longer than it takes until the owner confirms again
VIP=192.0.2.10

grep -q 'vm\.command=' /proc/cmdline || fail "this is no virtual machine of tests/vm: its clock is not touched"

constant() { # NAME: of vipd/timing.h, in its unit
	sed -n "s/^#define $1 (\{0,1\}\(INT64_C(\)\{0,1\}\([0-9]*\).*/\2/p" "$ROOT/vipd/timing.h"
}

slewed() { # ARGUMENT...: sets BOOT_US RAW_US TICK FREQ
	read -r BOOT_US RAW_US TICK FREQ < <("$SLEWCLOCK" "$@")
}

# How fast the clock goes, in parts of a million of the raw one, within so many seconds.
rate_ppm() { # SECONDS
	local boot_us raw_us
	slewed
	boot_us=$BOOT_US raw_us=$RAW_US
	nap "$1"
	slewed
	RATE_PPM=$(((BOOT_US - boot_us) * 1000000 / (RAW_US - raw_us)))
}

refuses() { # ARGUMENT...
	! "$SLEWCLOCK" "$@" 2>/dev/null
}

between() { # WHAT LOW VALUE HIGH
	echo "         $1: $3 ($2 to $4)"
	[[ $2 -le $3 && $3 -le $4 ]] || fail "$1 is $3, and not from $2 to $4"
}

vip_address() { # NODE
	ip -n "$1" -j address show dev vip0 | jq -r '.[].addr_info[]? | select(.scope == "global") | .local'
}

has_vip() { # NODE
	[[ $(vip_address "$1") == "$VIP" ]]
}

# The gate lets the address through.
is_live() { # NODE
	[[ $(ip netns exec "$1" nft list set inet fairlead-vip live4) == *"$VIP"* ]]
}

is_silent() { # NODE
	! is_live "$1"
}

status_says() { # NODE FILTER VALUE
	[[ $(fairlead "$1" -o json vip status "$VIP" 2>/dev/null | jq -r "$2") == "$3" ]]
}

vipd_begins() { # NODE
	mkdir -p "$T/run-$1"
	sed "s/^name: NODE$/name: $1/" "$T/vipd.yaml" >"$T/vipd-$1.yaml"
	spawn "vipd-$1" "$1" "$VIPD" --config "$T/vipd-$1.yaml" --runtime-dir "$T/run-$1"
}

slew_ppm=$(constant TIMING_SLEW_PPM)
wait_us=$(awk -v s="$slew_ppm" -v h="$(constant TIMING_HARDWARE_PPM)" -v late="$(constant TIMING_LATE_US)" \
	-v margin="$(constant TIMING_MARGIN_US)" -v window="$WINDOW_US" 'BEGIN {
		printf "%d", (window + late * 1000) * (1e6 + h) / (1e6 - h) * 1e6 / (1e6 - s) + margin * 1000 }')

say "the kernel refuses what is beyond its limits"
expect "a tick of 8999 us is refused" refuses --tick 8999
expect "a tick of 11001 us is refused" refuses --tick 11001
slewed --freq -2000
expect_equal "frequency in force" "$FREQ" -500

say "at its limits the clock is as slow as vipd assumes, and not slower"
slewed --tick 9000 --freq -500 --adjtime -1000000
rate_ppm 8
between "rate of a slow clock" $((1000000 - slew_ppm - 50)) "$RATE_PPM" $((1000000 - slew_ppm + 300))
slewed --tick 11000 --freq 500 --adjtime 1000000
rate_ppm 8
between "rate of a fast clock" $((1000000 + slew_ppm - 300)) "$RATE_PPM" $((1000000 + slew_ppm + 50))
slewed --tick 10000 --freq 0 --adjtime 0

say "two nodes with one clock, which is right"
for node in n1 n2; do
	ip netns add "$node"
	ip -n "$node" link set lo up
	ip -n "$node" link add vip0 type dummy
	ip -n "$node" link set vip0 up
done
ip link add eth1 netns n1 type veth peer name eth2 netns n2
ip -n n1 address add 198.51.100.1/24 dev eth1
ip -n n2 address add 198.51.100.2/24 dev eth2
ip -n n1 link set eth1 up
ip -n n2 link set eth2 up
cat >"$T/vipd.yaml" <<YAML
apiVersion: fairlead/v1
kind: NodeConfig
name: NODE
---
apiVersion: fairlead/v1
kind: EtcdClientConfig
endpoints: [http://198.51.100.1:2379]
callTimeout: 10s
hedgeDelay: 5s
---
apiVersion: v1alpha1
kind: Layer2VIPConfig
name: $VIP
link: vip0
---
apiVersion: fairlead/v1
kind: VIPPolicyConfig
announce: bgp
fence: nftables
fenceWindow: ${WINDOW_US%000000}s
healthCheck: {enabled: false}
YAML
spawn etcd-n1 n1 etcd --data-dir "$T/etcd" --log-level error --listen-client-urls http://198.51.100.1:2379 \
	--advertise-client-urls http://198.51.100.1:2379
vipd_begins n1
wait_until 60 has_vip n1
vipd_begins n2
wait_until 60 status_says n2 .state standby

say "the clock is as fast as it can be; the owner is killed"
slewed --tick 11000 --freq 500
nap "$PERIOD_S"
signal KILL vipd-n1
wait_until 60 has_vip n2
wait_until 10 status_says n2 .state owner
took_us=$(($(fairlead n2 -o json vip status "$VIP" | jq .last_move.duration_ms) * 1000))
# From the last sign of life on, by the clock that is fast.
between "by the raw clock n2 waited, in us" $((wait_us - 5000)) $((took_us * 1000000 / 1100500)) $((wait_us + 3000000))

say "it is right again, and the other node is back"
slewed --tick 10000 --freq 0
wait_exit 10 vipd-n1
vipd_begins n1
wait_until 60 status_says n1 .state standby

say "the clock is as slow as it can be; the owner is killed"
slewed --tick 9000 --freq -500
nap "$PERIOD_S"
slewed
boot_us=$BOOT_US raw_us=$RAW_US
signal KILL vipd-n2
wait_exit 10 vipd-n2
expect "it is live" is_live n2
deadline_us=$(jq '.vips[0].deadlineUs' "$T/run-n2/vipd.state")
wait_until 60 is_silent n2
slewed
between "n2 was silent, in us after its deadline, by the slow clock" -300000 $((BOOT_US - deadline_us)) 1000000
between "rate of the clock meanwhile" 899000 $(((BOOT_US - boot_us) * 1000000 / (RAW_US - raw_us))) 900000
expect_equal "who has taken it before" "$(vip_address n1)" ""
wait_until 60 has_vip n1
took_us=$(($(fairlead n1 -o json vip status "$VIP" | jq .last_move.duration_ms) * 1000))
between "n1 waited by both clocks, in us of the slow one" $((wait_us - 5000)) "$took_us" $((wait_us + 3000000))
