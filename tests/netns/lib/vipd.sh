# SPDX-License-Identifier: Apache-2.0
# vipd on the nodes: configuration, start, status.

# Settings of one node on top of those of all: NODE_POLICY[n1]="priority: 200".
declare -gA NODE_POLICY=()
# What the node calls itself, where that is not its name here.
declare -gA NODE_NAME=()
# Further documents of the configuration of every node.
EXTRA_CONFIG=
# The user of etcd's authentication, with the password $PKI/password.
ETCD_USER=


# A story may say it in another way.
vip_document() { # NODE VIP
	cat <<-YAML
		apiVersion: v1alpha1
		kind: Layer2VIPConfig
		name: $2
		link: ${VIP_LINK:-eth0}
	YAML
}

vipd_config() { # NODE
	local node=$1 member vip
	cat <<-YAML
		apiVersion: fairlead/v1
		kind: NodeConfig
		name: ${NODE_NAME[$node]:-$node}
		---
		apiVersion: fairlead/v1
		kind: EtcdClientConfig
		endpoints:
		  - https://127.0.0.1:2379
	YAML
	for member in "${NODES[@]}"; do
		[[ $member == "$node" ]] || echo "  - https://$(mgmt_ip "$member"):2379"
	done
	cat <<-YAML
		caFile: $PKI/etcd-trust.crt
		certFile: $PKI/client-$node.crt
		keyFile: $PKI/client-$node.key
	YAML
	[[ -z $ETCD_USER ]] || printf '%s\n' "user: $ETCD_USER" "passwordFile: $PKI/password"
	for vip in ${VIPS:-$VIP}; do
		echo ---
		vip_document "$node" "$vip"
	done
	cat <<-YAML
		---
		apiVersion: fairlead/v1
		kind: VIPPolicyConfig
		healthCheck:
		  enabled: true
		  url: https://127.0.0.1:6443/readyz
		  serverName: kubernetes
		  caFile: $PKI/cluster-ca.crt
		  ${HEALTH_TIMES:-interval: 500ms}
	YAML
	printf '%s\n' "$POLICY" "${NODE_POLICY[$node]:-}" | sed '/^[[:space:]]*$/d'
	[[ -z $EXTRA_CONFIG ]] || printf -- '---\n%s\n' "$EXTRA_CONFIG"
}

# VIPD_ENV holds variables for the next vipd that starts.
VIPD_ENV=()

# What a process preloads whose wall clock is its own (libfaketime), and whose timers are left alone
# (tests/fault/true_timers.c). Where nobody's user can read it.
CLOCK_PRELOAD=

clock_preload() {
	local library
	library=$(find /usr/lib -name libfaketimeMT.so.1 -print -quit)
	[[ -n $library ]] || fail "libfaketime is not installed (make deps)"
	install -D -m 755 "$BUILD/tests/fault/true_timers.so" "$T/bin/true_timers.so"
	CLOCK_PRELOAD=$T/bin/true_timers.so:$library
}

# The next vipds make their gate as before kernel 6.9, without an owner (tests/unit/oldnft.h).
nft_is_old() {
	install -D -m 755 "$BUILD/tests/netns/oldnft.so" "$T/bin/oldnft.so"
	VIPD_ENV+=(LD_PRELOAD="$T/bin/oldnft.so")
}

# As a service manager would: nobody's user, with two capabilities and no more. Its program is
# copied to where that user can read it.
VIPD_CAPABILITIES=+net_admin,+net_raw

vipd_start() { # NODE...
	local node
	for node in "$@"; do
		vipd_spawn "vipd-$node" "$node"
	done
}

# One more on a node is another process with a runtime folder of its own.
vipd_spawn() { # NAME NODE
	local name=$1 node=$2 folder=$T/run-${1#vipd-}
	[[ -x $T/bin/vipd ]] || install -D -m 755 "$VIPD" "$T/bin/vipd"
	install -d -o nobody "$folder"
	vipd_config "$node" >"$T/$name.yaml"
	# shellcheck disable=SC2086
	spawn "$name" "$node" setpriv --reuid nobody --regid nogroup --clear-groups \
		--inh-caps "$VIPD_CAPABILITIES" --ambient-caps "$VIPD_CAPABILITIES" \
		--bounding-set "-all,$VIPD_CAPABILITIES" --no-new-privs \
		env "${VIPD_ENV[@]}" $WRAP "$T/bin/vipd" --config "$T/$name.yaml" \
		--runtime-dir "$folder" --log-level "${VIPD_LOG_LEVEL:-info}"
}

# Nodes whose vipd is stopped and cannot be asked.
declare -gA PAUSED=()

vipd_pause() { # NODE
	signal STOP "vipd-$1"
	PAUSED[$1]=yes
}

vipd_resume() { # NODE
	unset "PAUSED[$1]"
	signal CONT "vipd-$1"
}

# A field of `vip status` as JSON names it: status n1 .state
status() { # NODE FILTER
	fairlead "$1" -o json vip status "$VIP" | jq -r "$2"
}

status_is() { # NODE FILTER VALUE
	[[ $(status "$1" "$2" 2>/dev/null) == "$3" ]]
}

# What every vipd says, for the reader of a failure.
vipd_statuses() {
	local node
	for node in "${NODES[@]}"; do
		alive "vipd-$node" || continue
		[[ -z ${PAUSED[$node]:-} ]] || continue
		echo "--- vip status on $node"
		fairlead "$node" -o json vip status 2>&1
	done
}

ON_FAILURE+=(vipd_statuses)

# Exactly one node's kernel has the address, its vipd says that it is the owner, and all others that
# run know it.
settled() {
	local owner node
	owner=$(holders)
	[[ -n $owner && $owner != *" "* ]] || return 1
	status_is "$owner" .state owner || return 1
	for node in "${NODES[@]}"; do
		alive "vipd-$node" || continue
		[[ -z ${PAUSED[$node]:-} ]] || continue
		[[ $node == "$owner" ]] || status_is "$node" .state standby || return 1
		status_is "$node" .owner "$owner" || return 1
	done
}

settled_on() { # NODE
	settled && held_by "$1"
}

settled_on_other_than() { # NODE
	settled && held_by_other_than "$1"
}

# Three nodes, LAN, etcd, API servers: everything but vipd.
cluster_up() {
	say "three nodes with etcd and API servers"
	lan_up
	pki_up
	etcd_up
	api_up
}

# All that, and both observers of the VIP.
cluster_watched() {
	cluster_up
	tcp_up
	observe
	observe_tcp
}

# All that and vipd on each, with one owner that everybody agrees on. Sets OWNER and BOUND_MS.
cluster_with_owner() {
	cluster_watched
	say "vipd starts on all three"
	vipd_start "${NODES[@]}"
	wait_until 15 settled
	OWNER=$(holders)
	BOUND_MS=$(status "$OWNER" .bound_ms)
	say "$OWNER owns $VIP; two owners for at most $BOUND_MS ms is what it promises"
}
