# SPDX-License-Identifier: Apache-2.0
# Talos and kube-vip, computed and not measured: how long after a loss of power, or after the owner was cut
# off, another can have the address, at the least and at the most, from what their sources say.
#
# Talos (internal/app/machined/pkg/controllers/network/operator/vip.go) campaigns by etcd's concurrency
# package with a session that names no TTL, so etcd's own holds:
#   TTL    60 s   defaultSessionTTL, etcd client/v3/concurrency/session.go
#   renew  20 s   a third of the TTL, etcd client/v3/lease.go
#   scan   0.5 s  how often etcd looks for leases that have run out, server/lease/lessor.go
# The owner renewed it between 0 and 20 s before: TTL - renew .. TTL + scan. Where it led etcd too, the new
# leader first is elected (1 to 2 s: etcd's election timeout is drawn between that and twice as much), and
# gives every lease all of its time and an election timeout (1 s) on top: TTL + 2 s .. TTL + 3 s + scan.
#
# kube-vip with a Kubernetes lease (client-go tools/leaderelection): a candidate may take a lease when it has
# seen no change for its duration L. It looks every retry period P times 1 to 2.2 (JitterFactor 1.2), and the
# owner renews every P. So it may have seen the last renewal at once, when that was P old at the fault, or
# 2.2 P late, when it was new; and it looks again up to 2.2 P after L is over: L - P .. L + 4.4 P. That an
# API server that was lost has to be noticed first is not in it.
#   15/2 s  client-go's usual values, which manifests of Cluster API providers have
#   5/1 s   what kube-vip's manifest generator writes (cmd/kube-vip.go)

COMPUTED=("talos(computed)" "kube-vip-15/2(computed)" "kube-vip-5/1(computed)")

computed() { # SUBJECT FIGURE LEAST_S MOST_S
	local s
	for s in "$3" "$4"; do
		sample "$1_$2_ms" ms "$(awk "BEGIN { print ($s) * 1000 }")"
	done
}

computed_all() {
	local lease=60 renew=20 scan=0.5
	computed "${COMPUTED[0]}" power_gap "$lease - $renew" "$lease + $scan"
	computed "${COMPUTED[0]}" power_leader_gap "$lease + 2" "$lease + 3 + $scan"
	computed "${COMPUTED[0]}" cut_takeover "$lease - $renew" "$lease + $scan"
	computed_kube_vip "${COMPUTED[1]}" 15 2
	computed_kube_vip "${COMPUTED[2]}" 5 1
}

computed_kube_vip() { # SUBJECT LEASE_S RETRY_S
	local figure
	for figure in power_gap power_leader_gap cut_takeover; do
		computed "$1" "$figure" "$2 - $3" "$2 + 4.4 * $3"
	done
}
