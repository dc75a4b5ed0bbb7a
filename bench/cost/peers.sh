# SPDX-License-Identifier: Apache-2.0
# What would stand there instead, as the guides for kubeadm set it up and as Debian's units run it:
# keepalived, which asks the API server by a script every 3 s; haproxy in front of the API servers, each
# asked every 10 s as prism does by default; and cron, with an hourly snapshot by etcdctl.

THEIRS=(keepalived haproxy cron)

keepalived_config() {
	cat <<-CONF
		global_defs {
			enable_script_security
			script_user bench
			vrrp_garp_master_refresh 60
		}
		vrrp_script api {
			script "$T/api.sh"
			interval 3
			fall 10
			rise 2
		}
		vrrp_instance api {
			state MASTER
			interface eth0
			virtual_router_id 51
			priority 101
			advert_int 1
			virtual_ipaddress {
				$VIP/32
			}
			track_script {
				api
			}
		}
	CONF
}

haproxy_config() {
	local node
	cat <<-CONF
		global
			user bench-haproxy
		defaults
			mode tcp
			timeout connect 5s
			timeout client 1h
			timeout server 1h
		listen api
			bind 127.0.0.1:7445
			balance roundrobin
			option httpchk GET /readyz
			default-server inter 10s downinter 5s rise 2 fall 2 check check-ssl verify required verifyhost kubernetes ca-file $PKI/cluster-ca.crt
	CONF
	for node in "${NODES[@]}"; do
		echo "	server $node 10.86.0.${NUMBER[$node]}:6443"
	done
}

crontab_text() {
	echo "0 * * * * root $(etcdctl_save)"
}

etcdctl_save() {
	echo "env ETCDCTL_API=3 $ETCD_BIN/etcdctl --endpoints https://127.0.0.1:2379 --cacert $PKI/etcd-trust.crt" \
		"--cert $PKI/client-admin.crt --key $PKI/client-admin.key snapshot save $T/cron.db"
}

# Users by name, for those that take no number, and nothing in cron's tables but ours.
peers_install() {
	[[ ! -e $T/passwd ]] || return 0
	{
		cat /etc/passwd
		echo "bench:x:${USER_ID[keepalived]}:65534::/:/bin/sh"
		echo "bench-haproxy:x:${USER_ID[haproxy]}:65534::/:/bin/sh"
	} >"$T/passwd"
	mount --bind "$T/passwd" /etc/passwd
	crontab_text >"$T/crontab"
	mount --bind "$T/crontab" /etc/crontab
	mount -t tmpfs none /etc/cron.d
	mount -t tmpfs none /var/spool/cron
	mkdir -p /var/spool/cron/crontabs
	printf '#!/bin/sh\nexec curl -sfk --max-time 2 -o /dev/null https://127.0.0.1:6443/readyz\n' >"$T/api.sh"
	chmod 755 "$T/api.sh"
	keepalived_config >"$T/keepalived.conf"
	haproxy_config >"$T/haproxy.cfg"
}

peer_start() { # NAME COMMAND...
	local name=$1
	shift
	spawn "$name" n1 env LD_LIBRARY_PATH="$T/lib-peers" "$@"
}

haproxy_rests() {
	[[ -n $(inside n1 ss -Htln 'sport = :7445') ]]
}

peers() {
	local name
	peers_install
	say "with keepalived, haproxy and cron"
	peer_start keepalived keepalived --dont-fork --log-console --use-file "$T/keepalived.conf" --pid "$T/keepalived.pid" \
		--vrrp_pid "$T/vrrp.pid"
	peer_start haproxy haproxy -W -db -f "$T/haproxy.cfg"
	peer_start cron cron -f
	wait_until 20 held_by n1
	wait_until 20 haproxy_rests
	for_seconds "$SETTLE_S" true
	etcd_rates "$STAGE_S"
	sample_beyond_alone peers
	say "all three, idle for $IDLE_S s"
	gauge "$IDLE_S" peers "${THEIRS[@]}"
	say "a snapshot"
	# shellcheck disable=SC2046
	snapshot_cost cron $(etcdctl_save)
	for name in "${THEIRS[@]}"; do
		signal TERM "$name"
		wait_exit 20 "$name"
	done
	wait_until 20 holds_not n1
}
