#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Measures what clients of a real Kubernetes (tests/kubernetes: three nodes as kubeadm makes them) see of faults: by
# prism on a worker and on the node that has the fault, by the VIP, and on the worker by HAProxy as kubeadm's guide
# configures it and by Talos's balancer (go-loadbalancer). All have the same fault at the same moment. Run by bench/run.
# From the environment: FAULTS, those to measure (tests/kubernetes/run --list).

# Before all else that this machine does, also where the kernel shares it among sessions first.
[[ $$ -eq 1 ]] || {
	renice -n "${NICE:--15}" -p $$ >/dev/null
	[[ ! -w /proc/self/autogroup ]] || echo "${NICE:--15}" >/proc/self/autogroup
}
RUNS=${RUNS:-5}
[[ -z $QUICK ]] || FAULTS=${FAULTS:-kill}
# Under another name: FAULTS is the table of lib/faults.sh, and a table does not come through the environment.
export WANTED=${WANTED-${FAULTS:-}}
KUBERNETES=$(cd "$(dirname "$0")" && pwd)/../tests/kubernetes
TALOS=${TALOS:-$BUILD/bench/talos}
export TALOS
[[ $$ -eq 1 ]] || (cd "$(dirname "$0")/kubernetes/talos" && go build -mod=readonly -trimpath -o "$TALOS" .)
# shellcheck source=tests/kubernetes/lib/begin.sh
. "$KUBERNETES/lib/begin.sh"

SAMPLES=$LOG_DIR/samples
SUBJECTS=(prism_worker prism_faulted vip haproxy talos)
declare -A SUBJECT=([worker]=prism_worker [faulted]=prism_faulted [vip]=vip [haproxy]=haproxy [talos]=talos)
PLACES+=(haproxy talos)
# Its checks get 401 for ever, and it has no server to connect to.
NOWHERE+=' anonymous@haproxy'
PLACE_HOST+=([haproxy]=wk [talos]=wk)
PLACE_URL+=([haproxy]=https://127.0.0.1:7446 [talos]=https://127.0.0.1:7447)

sample() { # NAME UNIT VALUE
	echo "$1 $2 $3" >>"$SAMPLES"
}

is_wanted() { # FAULT
	[[ -z $WANTED || " $WANTED " == *" $1 "* ]]
}

# https://github.com/kubernetes/kubeadm/blob/main/docs/ha-considerations.md, without its log.
haproxy_start() {
	local node
	{
		cat <<-CONF
			global
				maxconn 4000
			defaults
				option http-server-close
				option redispatch
				retries 1
				timeout http-request 10s
				timeout queue 20s
				timeout connect 5s
				timeout client 35s
				timeout server 35s
				timeout http-keep-alive 10s
				timeout check 10s
			frontend apiserver
				bind 127.0.0.1:7446
				mode tcp
				default_backend apiserverbackend
			backend apiserverbackend
				option httpchk
				http-check connect ssl
				http-check send meth GET uri /healthz
				http-check expect status 200
				mode tcp
				balance roundrobin
		CONF
		for node in "${NODES[@]}"; do
			echo "	server $node $(address "$node"):6443 check verify none"
		done
	} >"$T/haproxy.cfg"
	spawn haproxy-wk wk haproxy -db -f "$T/haproxy.cfg"
}

talos_start() {
	local node upstreams=()
	for node in "${NODES[@]}"; do
		upstreams+=("$(address "$node"):6443")
	done
	spawn talos-wk wk "$TALOS" 7447 "${upstreams[@]}"
}

listens() { # PORT
	[[ -n $(inside wk ss -Htln "sport = :$1") ]]
}

peers() {
	haproxy -v | awk 'NR == 1 { sub(/-.*/, "", $3); print "HAProxy", $3 }'
	sed -n 's|.*siderolabs/go-loadbalancer v|go-loadbalancer |p' "$ROOT/bench/kubernetes/talos/go.mod" | head -n 1
	"$K8S/kubectl" version --client --output json | jq -r '"Kubernetes " + .clientVersion.gitVersion[1:]'
}

measure() { # FAULT SECONDS
	local place subject
	fault_passes "$1" "$2"
	for place in "${ASKED_AT[@]}"; do
		subject=${SUBJECT[$place]}
		sample "${subject}_$1_failed_calls" calls "$(figure "$place" '.fresh.failed | failed')"
		sample "${subject}_$1_failed_kubectls" calls "$(figure "$place" '.kubectl.failed | failed')"
		sample "${subject}_$1_blind_s" s "$(figure "$place" '.watches.blind_ms / 1000')"
	done
	# Controller managers connect through the prism of their node.
	[[ $1 == power ]] || sample "prism_faulted_$1_leases_lost" leases "$LEASES"
	blind_by_peers "$1"
}

# How much longer a watch was blind by prism on the worker than by the better of its peers.
blind_by_peers() { # FAULT
	[[ $1 != anonymous ]] || return 0
	sample "prism_worker_$1_blind_more_s" s "$(jq -n --slurpfile ours "$T/figures-worker" \
		--slurpfile haproxy "$T/figures-haproxy" --slurpfile talos "$T/figures-talos" \
		'($ours[0].watches.blind_ms - ([$haproxy[0], $talos[0]] | map(.watches.blind_ms) | min)) / 1000')"
}

goals() {
	local fault subject
	for fault; do
		[[ $fault == power ]] || echo "prism_faulted_${fault}_leases_lost goal max <= 0"
		for subject in prism_worker prism_faulted; do
			[[ $fault == power && $subject == prism_faulted ]] || cat <<-GOALS
				${subject}_${fault}_failed_calls goal max <= 0
				${subject}_${fault}_failed_kubectls goal max <= 0
				${subject}_${fault}_blind_s goal max <= 5
			GOALS
		done
	done
	[[ " $* " != *" rolling "* ]] || echo "vip_rolling_failed_calls goal max <= 8"
	[[ " $* " != *" term_delay "* ]] || echo "vip_term_delay_failed_calls goal max <= 0"
}

peers >"$PEERS"
cluster_up
observe
haproxy_start
talos_start
wait_until 10 listens 7446
wait_until 10 listens 7447
measured=()
for ((run = 1; run <= RUNS; run++)); do
	for fault in "${FAULTS[@]}"; do
		read -r name seconds _ <<<"$fault"
		is_wanted "$name" || continue
		measure "$name" "$seconds"
		[[ $run -gt 1 ]] || measured+=("$name")
	done
done
{
	awk -v columns="${SUBJECTS[*]}" -f "$ROOT/bench/median.awk" -f "$ROOT/bench/compare.awk" "$SAMPLES"
	goals "${measured[@]}" | cat "$SAMPLES" - | awk -v bench=kubernetes -v table=no -f "$ROOT/bench/figures.awk"
} >"$RESULT"
