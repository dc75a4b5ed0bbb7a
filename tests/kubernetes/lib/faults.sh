# SPDX-License-Identifier: Apache-2.0
# Faults of one node, VICTIM, that has the VIP and leads by its controller manager and scheduler. Of each: fault_NAME
# begins it, mend_NAME ends it; where there are such, prepare_NAME makes what it needs before VICTIM is chosen, aim_NAME
# after that, and after_NAME undoes it.

# Name, how long it lasts, and what is allowed meanwhile through a prism (all places but the VIP): failed fresh calls
# and kubectls, seconds for which a watch is blind, leases lost. "-" is not judged.
FAULTS=(
	# name      s   failed  blind  leases
	"kill        10  0  5  0"
	"term        10  0  5  0"
	"term_delay  12  0  5  0"
	"stop        30  0  5  0"
	"drop        26  0  5  0"
	# An API server without etcd completes TLS handshakes and answers nothing. What was sent to it meanwhile cannot go to
	# another, so the calls of the first half second fail; while etcd elects a leader, those to every API server. The goal
	# of bench/run kubernetes is 0 and 5 s.
	"etcd_kill   28  3  6  0"
	"etcd_stop   28  6  6  0"
	"etcd_leader 15  12 6  0"
	"busy        60  0  5  0"
	"power       25  0  5  -"
	"rolling     0   0  5  0"
	"certs       20  0  5  0"
	"anonymous   28  -  -  -"
)

fault_kill() { kill_hard "api-$VICTIM"; }
mend_kill() { api_start "$VICTIM"; }

# Without --shutdown-delay-duration a server refuses new connections at once.
fault_term() { signal TERM "api-$VICTIM"; }
mend_term() {
	api_ends "$VICTIM"
	api_start "$VICTIM"
}

prepare_term_delay() { all_apis_with --shutdown-delay-duration=10s; }
fault_term_delay() { fault_term; }
mend_term_delay() { mend_term; }
after_term_delay() { all_apis_with; }

fault_stop() { signal STOP "api-$VICTIM"; }
mend_stop() { signal CONT "api-$VICTIM"; }

fault_drop() {
	inside "$VICTIM" nft -f - <<-NFT
		add table inet story
		add chain inet story in { type filter hook input priority -200; }
		add rule inet story in iifname eth0 tcp dport 6443 drop
		add chain inet story out { type filter hook output priority -200; }
		add rule inet story out oifname eth0 tcp sport 6443 drop
	NFT
}
mend_drop() { inside "$VICTIM" nft delete table inet story; }

aim_etcd_kill() { etcd_move_leader "$(node_other_than "$VICTIM")"; }
fault_etcd_kill() { kill_hard "etcd-$VICTIM"; }
mend_etcd_kill() { etcd_start "$VICTIM"; }

aim_etcd_stop() { aim_etcd_kill; }
fault_etcd_stop() { signal STOP "etcd-$VICTIM"; }
mend_etcd_stop() { signal CONT "etcd-$VICTIM"; }

aim_etcd_leader() { etcd_move_leader "$VICTIM"; }
fault_etcd_leader() { fault_etcd_kill; }
mend_etcd_leader() { mend_etcd_kill; }

# Short of processor time: it shares one with others that want all of it, and goes on to answer. No prism closes what
# it carries.
BUSY=(busy-{1..10})
fault_busy() {
	local name
	DEAD=$(closings_of "$VICTIM")
	taskset -a -p 1 "${PID[api-$VICTIM]}" >/dev/null
	for name in "${BUSY[@]}"; do
		spawn "$name" obs taskset 1 sh -c 'while :; do :; done'
	done
	spawn answers obs bash -c "while :; do curl -s -o /dev/null --max-time 5 -w '%{http_code}\\n' --cacert '$PKI/cluster-ca.crt' \
		'https://$(address "$VICTIM"):6443/readyz'; sleep 1; done"
}
mend_busy() {
	local name answered
	for name in "${BUSY[@]}" answers; do
		kill_hard "$name"
	done
	taskset -a -p "$(printf '%x' $(((1 << $(nproc)) - 1)))" "${PID[api-$VICTIM]}" >/dev/null
	answered=$(grep -c '^[1-5]' "$LOG_DIR/answers.log" || true)
	say "busy: it answered $answered of its requests"
	# Of one that did not answer, or on a machine that was too late besides (fault_run()), it would prove nothing.
	[[ $answered -gt 10 && $(lateness_since "$began") -le ${LATE_MAX_MS:-300} ]] || return 0
	expect_equal "closings of an API server that is busy" "$(closings_of "$VICTIM")" "$DEAD"
}

# How often a prism closed what the API server of a node carried.
closings_of() { # NODE
	cat <(grep -h "event=upstream_dead upstream=$(address "$1"):" "$LOG_DIR"/prism-*.log) \
		<(grep -h 'event=upstream_dead upstream=127.0.0.1:' "$LOG_DIR/prism-$1.log") | wc -l
}

fault_power() { power_off "$VICTIM"; }
mend_power() {
	power_on "$VICTIM"
	etcd_start "$VICTIM"
	wait_until 60 etcd_is_healthy
	api_start "$VICTIM"
	vipd_start "$VICTIM"
	kube_prism_start "$VICTIM"
}

# As an upgrade does it, without a delay.
fault_rolling() {
	local node
	for node in "${NODES[@]}"; do
		api_restart "$node"
	done
}
mend_rolling() { :; }

# A second authority, which all trust already. The certificates are replaced in their files.
prepare_certs() {
	local node pki name
	pki_authority next-ca
	cat "$PKI/next-ca.crt" "$PKI/cluster-ca.crt" >"$T/bundle"
	for node in "${NODES[@]}"; do
		pki=$(kube_folder "$node")/pki
		cp "$T/bundle" "$pki/ca.crt"
		cp "$PKI/next-ca.key" "$pki/ca.key"
		# The signer of the controller manager wants one certificate.
		cp "$PKI"/next-ca.{crt,key} "$pki"
		sed -i -E 's#(--cluster-signing-(cert|key)-file=.*/)ca\.#\1next-ca.#' \
			"$(kube_folder "$node")/manifests/kube-controller-manager.yaml"
		for name in controller-manager scheduler super-admin; do
			"$K8S/kubectl" config set-cluster kubernetes --kubeconfig "$(kube_folder "$node")/$name.conf" \
				--certificate-authority "$T/bundle" --embed-certs >>"$LOG_DIR/kubectl.log"
		done
	done
	cp "$T/bundle" "$PKI/cluster-ca.crt"
	for node in "${NODES[@]}"; do
		for name in "${PROGRAMS[@]}"; do
			kill_hard "$name-$node"
		done
		controllers_start "$node"
	done
	nap 20 # leases of those that were killed run out
	kill_hard write-cl
	journal_start
	wait_until 60 all_leases_held
}
# kubeadm signs with the first authority of the bundle.
fault_certs() {
	local node
	for node in "${NODES[@]}"; do
		kubeadm "$node" certs renew apiserver
	done
	for node in "${NODES[@]}"; do
		wait_until 90 serves_next_ca "$node"
	done
}
mend_certs() { :; }

serves_next_ca() { # NODE
	inside "$1" curl -s --max-time 2 --cacert "$PKI/next-ca.crt" "https://$(address "$1"):6443/livez"
}

# A hardened cluster: health endpoints say 401, whatever the server's state is.
prepare_anonymous() { all_apis_with --anonymous-auth=false; }
aim_anonymous() { aim_etcd_kill; }
fault_anonymous() { fault_etcd_stop; }
mend_anonymous() { mend_etcd_stop; }
after_anonymous() { all_apis_with; }

# While there are no clients.
all_apis_with() { # ARGUMENT
	local node
	API_ARGS=$*
	for node in "${NODES[@]}"; do
		kill_hard "api-$node"
		api_start "$node"
	done
	wait_until 90 all_apis_ready
}

api_restart() { # NODE
	signal TERM "api-$1"
	api_ends "$1"
	api_start "$1"
	wait_until 90 api_ready "$1"
}

# A kubelet's patience with a server that was told to end: streams hold it up for as long as they last.
api_ends() { # NODE
	local end=$(($(now_cs) + 3000))
	while alive "api-$1" && [[ $(now_cs) -lt $end ]]; do
		nap 0.1
	done
	kill_hard "api-$1"
}

# --- before and after ----------------------------------------------------------------------------

prism_ready() { # HOST: it finds all of its upstreams well
	[[ $(prism_all "$1" '[.[] | select(.upstream) | .state] | unique | join(" ")' 2>/dev/null) =~ ^(ready|alive)$ ]]
}

# vipd's holdDown (30 s) keeps an address where it is for so long after a move.
HOLD_CS=3500
MOVED_CS=0 # when it may have moved last

# All is well, and the leases are where the VIP is. Sets VICTIM.
gather() {
	local node program
	wait_until 90 all_apis_ready
	wait_until 60 etcd_is_healthy
	wait_until 60 settled
	VICTIM=$(holders)
	for node in "${NODES[@]}"; do
		controllers_start "$node"
	done
	for program in "${PROGRAMS[@]}"; do
		wait_until 60 lease_brought "$program"
	done
	for node in "${NODES[@]}"; do
		controllers_start "$node"
	done
	for node in wk "$VICTIM"; do
		wait_until 60 prism_ready "$node"
	done
	wait_until 40 is_held_long
}

# Others are away until VICTIM has the lease.
lease_brought() { # PROGRAM
	local node
	[[ $(lease_holder "$1") != "$VICTIM" ]] || return 0
	for node in "${NODES[@]}"; do
		[[ $node == "$VICTIM" ]] || ! alive "$1-$node" || {
			signal TERM "$1-$node"
			wait_exit 30 "$1-$node"
		}
	done
	return 1
}

is_held_long() {
	[[ $(now_cs) -ge $((MOVED_CS + HOLD_CS)) ]]
}
