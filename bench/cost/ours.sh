# SPDX-License-Identifier: Apache-2.0
# The four daemons on n1, each as a user of its own with what its unit lets it do. Where nothing is written
# here, they do as they do by default.

OURS=(vipd prism etcdwatch netconf)
HEALTH_TIMES="interval: 1s" # as by default
EW_SCHEDULE=@hourly
PRISM_SOURCES="endpointSlices: {kubeconfig: $T/kubeconfig}"

declare -A CAPABILITIES=([vipd]=+net_admin,+net_raw [prism]= [etcdwatch]=
	[netconf]=+net_admin,+net_raw)

# The API servers' own list of themselves, which prism asks for every 30 s.
slices() {
	local list=$T/www/apis/discovery.k8s.io/v1/namespaces/default/endpointslices
	mkdir -p "${list%/*}"
	printf '%s\n' 10.86.0.11 10.86.0.12 10.86.0.13 | jq -Rn '{kind: "EndpointSliceList",
		items: [{addressType: "IPv4", ports: [{name: "https", port: 6443, protocol: "TCP"}],
		endpoints: [inputs | {addresses: [.], conditions: {ready: true}}]}]}' >"$list"
	cat >"$T/kubeconfig" <<-YAML
		apiVersion: v1
		kind: Config
		current-context: prism
		contexts:
		- {name: prism, context: {cluster: here, user: prism}}
		clusters:
		- name: here
		  cluster:
		    server: https://elsewhere.invalid:6443
		    tls-server-name: $PROBE_NAME
		    certificate-authority: $PKI/cluster-ca.crt
		users:
		- {name: prism, user: {token: s3cret}}
	YAML
}

netconf_document() {
	cat <<-YAML
		apiVersion: v1alpha1
		kind: LinkConfig
		name: eth0
		addresses:
		  - address: 10.86.0.11/24
	YAML
}

config_of() { # DAEMON
	case $1 in
	netconf) netconf_document ;;
	*) "$1_config" n1 ;;
	esac
}

state_of() { # DAEMON
	case $1 in
	etcdwatch) etcdwatch_directory n1 ;;
	prism) echo "$T/state-n1" ;;
	*) echo "$T/state-$1" ;;
	esac
}

ours_start() { # DAEMON
	local name=$1 id=${USER_ID[$1]} caps=(--inh-caps=-all --bounding-set=-all) environment more=()
	[[ -z ${CAPABILITIES[$name]} ]] || caps=(--inh-caps "${CAPABILITIES[$name]}"
		--ambient-caps "${CAPABILITIES[$name]}" --bounding-set "-all,${CAPABILITIES[$name]}")
	[[ $name != netconf ]] || more=(--state-dir "$(state_of netconf)")
	install -d -o "$id" "$T/run-$name" "$(state_of "$name")"
	config_of "$name" >"$T/$name.yaml"
	mapfile -t environment < <(sed -n 's/^Environment=//p' "$ROOT/systemd/fairlead-$name.service")
	spawn "$name" n1 setpriv --reuid "$id" --regid "$id" --clear-groups "${caps[@]}" --no-new-privs \
		env LD_LIBRARY_PATH="$T/lib-ours" "${environment[@]}" "$T/bin/$name" --config "$T/$name.yaml" \
		--runtime-dir "$T/run-$name" "${more[@]}"
	wait_until 20 "$name"_rests
}

vipd_rests() {
	held_by n1 && [[ $(fairlead vipd -o json vip status "$VIP" | jq -r .state) == owner ]]
}

prism_rests() {
	[[ $(fairlead prism -o json prism status | jq -rs '[.[1:][].state] | unique | join(" ")') == ready ]]
}

# With the snapshot that it takes because it has none; it keeps that for the next round.
etcdwatch_rests() {
	[[ -n $(find "$(etcdwatch_directory n1)" -maxdepth 1 -name '[!.]*.json') ]] &&
		[[ $(tree_of "${PID[etcdwatch]}" | wc -l) -eq 1 ]]
}

netconf_rests() {
	fairlead netconf -o json net status
}

# One more daemon; what etcd is asked more than before is asked for it.
stage() { # DAEMON
	local asked=$RATE_ASKED entries=$RATE_ENTRIES
	ours_start "$1"
	for_seconds "$SETTLE_S" true
	etcd_rates "$STAGE_S"
	sample "$1_etcd_requests_per_s" 1/s "$(difference "$RATE_ASKED" "$asked")"
	sample "$1_etcd_entries_per_s" 1/s "$(difference "$RATE_ENTRIES" "$entries")"
}

# The four together are measured, and one after the other they are added.
ours() {
	local name
	mkdir -p "$T/bin"
	install -m 755 "$BUILD"/bin/{vipd,prism,prism-probe,etcdwatch,etcdwatch-worker,netconf} "$T/bin/"
	slices
	RATE_ASKED=$ALONE_ASKED RATE_ENTRIES=$ALONE_ENTRIES
	for name in "${OURS[@]}"; do
		say "with $name"
		stage "$name"
	done
	sample_beyond_alone together
	say "all four, idle for $IDLE_S s"
	gauge "$IDLE_S" together "${OURS[@]}"
	say "a snapshot"
	snapshot_cost etcdwatch --daemon "${PID[etcdwatch]}" "$FAIRLEAD" --runtime-dir "$T/run-etcdwatch" \
		etcd snapshot save
	for name in "${OURS[@]}"; do
		kill_hard "$name"
	done
	wait_until 20 holds_not n1
}

# Of a tiny database: what grows with it is in another bench. The peak is of the daemon and its worker.
snapshot_cost() { # NAME [--daemon PID] COMMAND...
	local name=$1
	shift
	inside n1 "$BUILD/bench/cost" "$@" >"$T/out" 2>"$T/cost" || fail "$name takes no snapshot: $(cat "$T/cost")"
	tail -n 1 "$T/cost" | tr ' ' '\n' | awk -F = -v name="$name" '
		{ value[$1] = $2 }
		END {
			tree = "tree_rss_kib" in value
			printf "%s_snapshot_rss_kib KiB %s\n", name, value[tree ? "tree_rss_kib" : "rss_kib"]
			printf "%s_snapshot_cpu_ms ms %s\n", name, tree ? value["daemon_cpu_ms"] + value["child_cpu_ms"] : \
				value["cpu_ms"]
		}' >>"$SAMPLES"
}
