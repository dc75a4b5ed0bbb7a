# SPDX-License-Identifier: Apache-2.0
# The network that everybody makes, as each of them wants it written: N links, each with four addresses
# and four routes, half of them IPv6.
#   links   pairs of veth, which any kernel has
#   bond    a bond of two ports, and VLANs on it

# What is on one link, a word each: ADDRESSES, ROUTES (DESTINATION,GATEWAY).
on_link() { # NUMBER
	local net=$(($1 / 250 * 2 + 20)).$(($1 % 250)) other=$(($1 / 250 * 2 + 21)).$(($1 % 250))
	ADDRESSES=("10.$net.1/24" "10.$other.1/24" "fd20:$1::1/64" "fd21:$1::1/64")
	ROUTES=("10.1$net.0/24,10.$net.254" "10.1$other.0/24,10.$other.254"
		"fd30:$1::/64,fd20:$1::254" "fd31:$1::/64,fd21:$1::254")
}

# The link that has the Nth of them.
link_name() { # SHAPE NUMBER
	[[ $1 == bond ]] && echo "bond0.$2" || echo "v$2"
}

# --- netconf -----------------------------------------------------------------------------------------

yaml_on_link() { # INDENT NUMBER
	local address route
	on_link "$2"
	echo "$1addresses:"
	for address in "${ADDRESSES[@]}"; do
		echo "$1- {address: \"$address\"}"
	done
	echo "$1routes:"
	for route in "${ROUTES[@]}"; do
		echo "$1- {destination: \"${route%,*}\", gateway: \"${route#*,}\"}"
	done
}

yaml_links() {
	local i
	for ((i = 1; i <= N; i += 2)); do
		printf '%s\n' --- 'apiVersion: v1alpha1' 'kind: VethConfig' "name: v$i"
		yaml_on_link '' "$i"
		printf '%s\n' 'peer:' "  name: v$((i + 1))"
		yaml_on_link '  ' $((i + 1))
	done
}

yaml_bond() {
	local i
	printf '%s\n' 'apiVersion: v1alpha1' 'kind: BondConfig' 'name: bond0' 'links: [p1, p2]' \
		'bondMode: active-backup' 'miimon: 100'
	for ((i = 1; i <= N; i++)); do
		printf '%s\n' --- 'apiVersion: v1alpha1' 'kind: VLANConfig' "name: bond0.$i" 'parent: bond0' "vlanID: $i"
		yaml_on_link '' "$i"
	done
}

# --- ip(8) -------------------------------------------------------------------------------------------

batch_on_link() { # NAME NUMBER
	local address route
	on_link "$2"
	echo "link set $1 up"
	for address in "${ADDRESSES[@]}"; do
		echo "address add $address dev $1"
	done
	for route in "${ROUTES[@]}"; do
		echo "route add ${route%,*} via ${route#*,} dev $1"
	done
}

batch_links() {
	local i
	for ((i = 1; i <= N; i += 2)); do
		echo "link add v$i type veth peer name v$((i + 1))"
		# What is on a link without a carrier would have to wait for it.
		echo "link set v$((i + 1)) up"
		batch_on_link "v$i" "$i"
		batch_on_link "v$((i + 1))" $((i + 1))
	done
}

batch_bond() {
	local i
	printf '%s\n' 'link add bond0 type bond mode active-backup miimon 100' 'link set p1 down' \
		'link set p1 master bond0' 'link set p2 down' 'link set p2 master bond0' 'link set p1 up' \
		'link set p2 up' 'link set bond0 up'
	for ((i = 1; i <= N; i++)); do
		echo "link add link bond0 name bond0.$i type vlan id $i"
		batch_on_link "bond0.$i" "$i"
	done
}

# All of it away again.
batch_back_links() {
	local i
	for ((i = 1; i <= N; i += 2)); do
		echo "link delete v$i"
	done
}

batch_back_bond() {
	echo "link delete bond0"
}

# --- systemd-networkd --------------------------------------------------------------------------------

# Without what it would do besides: its own link-local addresses and router discovery.
NETWORKD_PLAIN=$'LinkLocalAddressing=no\nIPv6AcceptRA=no\nConfigureWithoutCarrier=yes\nIPv6DuplicateAddressDetection=0'

networkd_on_link() { # NAME NUMBER
	local address route
	on_link "$2"
	printf '%s\n' '[Match]' "Name=$1" '[Network]' "$NETWORKD_PLAIN" "${ADDRESSES[@]/#/Address=}"
	for route in "${ROUTES[@]}"; do
		printf '%s\n' '[Route]' "Destination=${route%,*}" "Gateway=${route#*,}"
	done
}

networkd_links() { # FOLDER
	local i
	for ((i = 1; i <= N; i++)); do
		networkd_on_link "v$i" "$i" >"$1/v$i.network"
		[[ $((i % 2)) -eq 0 ]] ||
			printf '%s\n' '[NetDev]' "Name=v$i" 'Kind=veth' '[Peer]' "Name=v$((i + 1))" >"$1/v$i.netdev"
	done
}

networkd_bond() { # FOLDER
	local i
	printf '%s\n' '[NetDev]' 'Name=bond0' 'Kind=bond' '[Bond]' 'Mode=active-backup' \
		'MIIMonitorSec=100ms' >"$1/bond0.netdev"
	printf '%s\n' '[Match]' 'Name=p1 p2' '[Network]' 'Bond=bond0' >"$1/p.network"
	{
		printf '%s\n' '[Match]' 'Name=bond0' '[Network]' "$NETWORKD_PLAIN"
		for ((i = 1; i <= N; i++)); do
			echo "VLAN=bond0.$i"
			printf '%s\n' '[NetDev]' "Name=bond0.$i" 'Kind=vlan' '[VLAN]' "Id=$i" >"$1/bond0.$i.netdev"
			networkd_on_link "bond0.$i" "$i" >"$1/bond0.$i.network"
		done
	} >"$1/bond0.network"
}

# The others do not ask whether another host has an address: that is off here for both families (for
# IPv6 in the kernel, see cables_new), as it takes a second whatever else is done.
yaml_policy() {
	printf '%s\n' 'apiVersion: fairlead/v1' 'kind: NetworkPolicyConfig' 'probes: {duplicates: false}'
}

# Files of all, and a change of one address more, in $T.
shape_write() { # SHAPE
	rm -rf "$T/networkd"
	mkdir -p "$T/networkd"
	{
		yaml_policy
		echo ---
		"yaml_$1"
	} >"$T/many.yaml"
	sed '0,/^addresses:$/s//addresses:\n- {address: 10.99.0.1\/24}/' "$T/many.yaml" >"$T/more.yaml"
	"batch_$1" >"$T/many.batch"
	"batch_back_$1" >"$T/back.batch"
	"networkd_$1" "$T/networkd"
}
