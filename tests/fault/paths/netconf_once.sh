# SPDX-License-Identifier: Apache-2.0
# netconf --once makes the network that is configured. Where it says that it has done so, it has, and
# what it did is kept as confirmed; where not, it says why, and the next start makes it good.
PROGRAM=netconf
use netconf

path_begin() {
	node_new
	ip -n n1 address add 10.1.0.77/32 dev eth0
	config_write wanted <<-'YAML'
		apiVersion: v1alpha1
		kind: LinkConfig
		name: eth0
		mtu: 1400
		addresses:
		  - address: 10.1.0.1/24
		routes:
		  - gateway: 10.1.0.254
		---
		apiVersion: v1alpha1
		kind: BridgeConfig
		name: br0
		links: [eth1]
		addresses:
		  - address: 10.2.0.1/24
		---
		apiVersion: v1alpha1
		kind: RoutingRuleConfig
		name: "1000"
		src: 10.1.0.0/24
		table: 100
	YAML
	once "$BUILD/bin/netconf"
	network_told >"$T/wanted"
	undo_all
}

once() { # PROGRAM
	spawn netconf n1 env "${FAULT[@]}" "$1" --config "$T/wanted.yaml" --state-dir "$T/state-n1" \
		--runtime-dir "$T/run-n1" --once --wait 0s
	wait_exit 60 netconf
}

# As the node was before.
undo_all() {
	rm -rf "$T/state-n1"
	ip -n n1 -batch - <<-BATCH
		link delete br0
		address flush dev eth0 to 10.1.0.1/32
		link set eth0 mtu 1500
		rule delete priority 1000
	BATCH
} 2>/dev/null

# A link that is made anew has another number.
network_told() {
	network | sed 's/^[0-9]*: //' | sort
}

is_wanted() {
	diff "$T/wanted" <(network_told) >"$LOG_DIR/difference"
}

path_walk() {
	once "$PROGRAMS/netconf"
	ended_well netconf "$EXIT_CODE"
	[[ $EXIT_CODE -ne 0 ]] || is_wanted || lie "netconf said that it is applied: $(cat "$LOG_DIR/difference")"
	[[ $EXIT_CODE -ne 0 ]] || [[ -e $T/state-n1/confirmed/config.yaml ]] ||
		lie "netconf said that all is well, and keeps nothing of it"
}

path_again() {
	once "$BUILD/bin/netconf"
	expect_equal "how netconf ended" "$EXIT_CODE" 0
	expect "the network is what is wanted" is_wanted
	undo_all
}
