# SPDX-License-Identifier: Apache-2.0
# prism on a worker (`cl`), with clients beside it, in front of the API servers of n1 n2 n3. Clients are
# tests/tools/apiclient, which counts each request that fails and says how; oddserver takes the place
# of an API server that is to misbehave.
#
# What a story may set:
PRISM_LISTEN="127.0.0.1:7445 [::1]:7445"
PRISM_UPSTREAMS="10.86.0.11:6443 10.86.0.12:6443 10.86.0.13:6443"
PRISM_SOURCES= # further lines of `upstreams`
PRISM_HEALTH=  # of `healthCheck`
PRISM_MORE=    # of the document itself
# PRISM_STATE: its stateDir, if it is to be another one.
# PRISM_LOCAL: the API server of this node, if there is one
# PRISM_AT: the host where the next prism or client is started, if not cl
PRISM_LIMITS=  # prlimit(1) options, as of a service manager
PRISM=${PRISM:-$BUILD/bin/prism}

# What is measured goes before what else runs on this machine.
AHEAD=-10

# The names that certificates are for: probes ask for one, clients for the other, so that a server can
# tell them apart.
PROBE_NAME=kubernetes
CLIENT_NAME=kubernetes.default

prism_config() { # NAME
	local upstream
	cat <<-YAML
		apiVersion: fairlead/v1
		kind: PrismConfig
		listen: [$(quoted_list "$PRISM_LISTEN")]
		stateDir: "${PRISM_STATE-$T/state-$1}"
		upstreams:
		  local: ${PRISM_LOCAL:-off}
		  static: [$(quoted_list "$PRISM_UPSTREAMS")]
	YAML
	indent "$PRISM_SOURCES"
	cat <<-YAML
		healthCheck:
		  serverName: $PROBE_NAME
		  caFile: $PKI/cluster-ca.crt
	YAML
	indent "$PRISM_HEALTH"
	printf '%s\n' "$PRISM_MORE"
}

quoted_list() { # WORDS
	local words
	# shellcheck disable=SC2206
	words=($1)
	[[ ${#words[@]} -eq 0 ]] || printf '"%s", ' "${words[@]}" | sed 's/, $//'
}

indent() { # LINES
	[[ -z $1 ]] || sed 's/^/  /' <<<"$1"
}

# As a service manager would: nobody's user, without any capability. Its programs are copied to where
# that user can read them.
prism_install() {
	local program
	for program in prism prism-probe; do
		install -D -m 755 "$(dirname "$PRISM")/$program" "$T/bin/$program.new"
		mv "$T/bin/$program.new" "$T/bin/$program"
	done
}

# A second one on the same node needs another NAME, and PRISM_LISTEN.
prism_start() { # [NAME]
	local name=${1:-cl}
	prism_configure "$name"
	prism_run "$name"
}

prism_run() { # [NAME]
	prism_spawn "$@"
	wait_until "${PRISM_START_S:-5}" prism_answers "$@"
}

prism_configure() { # [NAME]
	local name=${1:-cl}
	install -d -o nobody "$T/run-$name" "$T/state-$name"
	prism_config "$name" >"$T/prism-$name.yaml.new"
	mv "$T/prism-$name.yaml.new" "$T/prism-$name.yaml"
}

prism_spawn() { # [NAME]
	local name=${1:-cl} limits=()
	# shellcheck disable=SC2206
	[[ -z $PRISM_LIMITS ]] || limits=(prlimit $PRISM_LIMITS --)
	[[ -x $T/bin/prism ]] || prism_install
	# shellcheck disable=SC2086
	spawn "prism-$name" "${PRISM_AT:-cl}" "${limits[@]}" nice -n $AHEAD setpriv --reuid nobody --regid nogroup --clear-groups \
		--inh-caps -all --bounding-set -all --no-new-privs $WRAP "$T/bin/prism" \
		--config "$T/prism-$name.yaml" --runtime-dir "$T/run-$name" \
		--log-level "${PRISM_LOG_LEVEL:-info}"
	PRISMS[$name]=yes
}

declare -gA PRISMS=() # names of those that were started

prism_answers() { # [NAME]
	prism_all "${1:-cl}" . >/dev/null
}

# What jq makes of the whole answer: [overview, upstream, upstream, ...].
prism_all() { # NAME FILTER
	fairlead "$1" -o json prism status | jq -ers "$2"
}

prism_is() { # FILTER VALUE: of the overview
	[[ $(prism_all cl ".[0]$1" 2>/dev/null) == "$2" ]]
}

prism_figure() { # FILTER: of the overview
	prism_all cl ".[0]$1"
}

upstream() { # ADDRESS FILTER
	prism_all cl ".[] | select(.upstream == \"$1\") | $2"
}

upstream_of() { # NODE FILTER
	upstream "10.86.0.${NUMBER[$1]}:6443" "$2"
}

# All of them at once.
states_are() { # NODE=STATE[|STATE]...
	local word
	for word in "$@"; do
		[[ $(upstream_of "${word%=*}" .state 2>/dev/null) =~ ^(${word#*=})$ ]] || return 1
	done
}

all_ready() {
	states_are n1=ready n2=ready n3=ready
}

prism_statuses() {
	local name
	for name in "${!PRISMS[@]}"; do
		alive "prism-$name" || {
			echo "--- prism $name does not run"
			continue
		}
		echo "--- prism status of $name"
		fairlead "$name" -o json prism status 2>&1
	done
}

# No sanitizer has spoken and no assertion has failed, in any process of any prism.
prism_logs_are_clean() {
	local name bad=0
	for name in "${!PRISMS[@]}"; do
		if grep -E 'Sanitizer|runtime error|Assertion|crashed' "$LOG_DIR/prism-$name.log"; then
			echo "FAILED: a fault in prism-$name.log"
			bad=1
		fi
	done
	return "$bad"
}

ON_END+=(prism_logs_are_clean)
ON_FAILURE+=(prism_statuses)

# --- the rest of the world -----------------------------------------------------------------------

# The LAN with cl, n1, n2, n3, and the cluster's authority with a certificate for each node.
lan_with_servers() {
	local host
	ip netns add sw
	bridge_up lan
	for host in cl "${NODES[@]}"; do
		host_up "$host"
	done
	pki_authority cluster-ca
	for host in "${NODES[@]}"; do
		pki_issue_api "$host" cluster-ca
	done
	mkdir -p "$T/www"
	printf '{"major": "1", "minor": "32"}\n' >"$T/www/version"
	"$TOOLS/apiclient" stream --bytes 40000 >"$T/www/long"
}

# All that with API servers, prism in front of them, and each judged.
prism_before_servers() {
	lan_with_servers
	api_up
	prism_start
	wait_until 5 all_ready
}

# An oddserver in the place of a node's API server; what it gets and does is in odd-NODE.log, what
# each of its connections sent in $T/odd-NODE/.
odd_start() { # NODE OPTION...
	local node=$1
	shift
	mkdir -p "$T/odd-$node"
	spawn "odd-$node" "$node" "$TOOLS/oddserver" --listen "10.86.0.${NUMBER[$node]}:6443" \
		--cert "$PKI/api-$node.crt" --key "$PKI/api-$node.key" --probe-name "$PROBE_NAME" \
		--control "$T/odd-$node.control" --record "$T/odd-$node" "$@"
	wait_until 2 port_open "$node"
}

port_open() { # NODE
	[[ -n $(inside "$1" ss -Hltn 'sport = :6443') ]]
}

odd_control() { # NODE WORDS: mode=MODE readyz=STATUS
	printf '%s\n' "$2" >"$T/odd-$1.control.new"
	mv "$T/odd-$1.control.new" "$T/odd-$1.control"
}

# How many connections of a kind (probe, tls, plain, quiet) it has seen.
odd_visitors() { # NODE KIND
	grep -Ec "^[0-9.]+ open conn=[0-9]+ kind=($2) " "$LOG_DIR/odd-$1.log" || true
}

# What one visitor of that kind sent, the last one: a file.
odd_received() { # NODE KIND
	local conn
	conn=$(sed -nE "s/^[0-9.]+ open conn=([0-9]+) kind=$2 .*/\1/p" "$LOG_DIR/odd-$1.log" | tail -n 1)
	echo "$T/odd-$1/$conn"
}

# SYNs to a node's API server vanish, or (established) all that belongs to a connection.
blackhole() { # NODE syn|all
	local match="tcp dport 6443"
	inside "$1" nft add table inet story
	inside "$1" nft "add chain inet story in { type filter hook input priority -200; }"
	[[ $2 == all ]] || match+=" tcp flags & (syn | ack) == syn"
	inside "$1" nft "add rule inet story in $match drop"
	[[ $2 == all ]] || return 0
	inside "$1" nft "add chain inet story out { type filter hook output priority -200; }"
	inside "$1" nft "add rule inet story out tcp sport 6443 drop"
}

blackhole_end() { # NODE
	inside "$1" nft delete table inet story
}

# --- clients -------------------------------------------------------------------------------------

PRISM_CLIENTS="--to 127.0.0.1:7445 --to [::1]:7445" # where clients ask

# How clients of an API server ask, and what they must get.
ASK_VERSION="--ca $PKI/cluster-ca.crt --name $CLIENT_NAME --path /version --body $T/www/version"
ASK_LONG="--ca $PKI/cluster-ca.crt --name $CLIENT_NAME --path /slow/long --body $T/www/long"

# How long they wait for an answer, if nothing is said: for those under a sanitizer a handshake takes seconds
# on a busy machine.
CLIENT_WAITS="--timeout 5000"
! sanitizers_are_on || CLIENT_WAITS="--timeout 30000"

# In the background until client_stop, or as its options say. Returns when it got its first answer.
client_start() { # NAME MODE OPTION...
	local name=$1
	client_spawn "$@"
	wait_until 10 log_says "client-$name" '^[0-9.]+ (begun|holding) '
}

client_spawn() { # NAME MODE OPTION...
	local name=$1 mode=$2
	shift 2
	rm -f "$LOG_DIR/client-$name.log"
	# shellcheck disable=SC2086
	spawn "client-$name" "${PRISM_AT:-cl}" nice -n $AHEAD "$TOOLS/apiclient" "$mode" $PRISM_CLIENTS $CLIENT_WAITS "$@"
}

# Lets it finish what it has begun. Its figures are there when this returns.
client_stop() { # NAME
	[[ -z ${PID[client-$1]:-} ]] || kill -TERM "${PID[client-$1]}" 2>/dev/null || true
	client_wait 35 "$1"
}

client_wait() { # SECONDS NAME
	wait_exit "$1" "client-$2"
	expect_equal "exit code of client $2" "$EXIT_CODE" 0
	printf '         %s: %s\n' "$2" "$(client_line "$2")"
}

client_line() { # NAME
	client_figure "$1" '"\(.ok) of \(.ok + .failed) well, p50 \(.p50_ms) ms, max \(.max_ms) ms"
		+ ([.failures | to_entries[] | select(.value > 0) | ", \(.value) \(.key)"] | add // "")'
}

# Of the summary; numbers come without decimals.
client_figure() { # NAME FILTER
	tail -n 1 "$LOG_DIR/client-$1.log" |
		jq -er "$2 | if type == \"number\" then floor else . end"
}

# A run from start to end.
client_run() { # NAME MODE OPTION...
	client_spawn "$@"
	client_wait 60 "$1"
}

# At least COUNT requests, and none failed; or only as these KINDS say.
expect_all_well() { # NAME COUNT [KIND...]
	local name=$1 count=$2 others
	shift 2
	others=$(client_figure "$name" ".failures | delpaths([$(
		[[ $# -eq 0 ]] || printf '["%s"],' "$@" | sed 's/,$//')]) | add")
	expect_equal "requests of client $name that failed" "$others" 0
	expect_at_least "requests of client $name that went well" "$(client_figure "$name" .ok)" "$count"
}

expect_at_least() { # WHAT GOT LIMIT
	[[ $2 -ge $3 ]] || fail "$1: $2, expected at least $3"
}

expect_at_most() { # WHAT GOT LIMIT
	[[ $2 -le $3 ]] || fail "$1: $2, expected at most $3"
}
