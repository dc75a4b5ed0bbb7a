#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Leases of a real server by a real client: there before the address that they replace goes, marked and
# undone like all else, kept over the death of the daemon, followed to another address, over at their
# time.
. "$(dirname "$0")/lib-netconf.sh"

# The client's own files, and the host's, belong to the story.
mount -t tmpfs none /var/lib/dhcpcd
cp -a /etc "$T/etc"
mount --bind "$T/etc" /etc
rm -f /etc/resolv.conf
printf 'nameserver 192.0.2.53\n' >/etc/resolv.conf
printf '127.0.0.1 localhost\n' >/etc/hosts
cp /etc/hosts "$T/hosts"

node_new
mkdir -p "$T/files"
ip -n n1 link set eth0 address 02:00:00:00:00:0c

# The client of the system, in a hurry: a server that does not know the last lease is given up after a
# second and not five, and, once the file is there, an address is not asked for by ARP, which takes six.
client=$(command -v dhcpcd)
mkdir -p "$T/bin"
cat >"$T/bin/dhcpcd" <<SH
#!/bin/sh
[ ! -e $T/no-arp ] || set -- --noarp "\$@"
exec $client --reboot 1 "\$@"
SH
chmod +x "$T/bin/dhcpcd"
PATH=$T/bin:$PATH

# What the node is given; nothing is remembered.
server_start() { # ADDRESS ADDRESS-OF-IPv6
	spawn dnsmasq sw dnsmasq --no-daemon --conf-file=/dev/null --interface=leg0 --bind-interfaces --port=0 \
		--no-resolv --no-hosts --no-ping --leasefile-ro --dhcp-authoritative \
		--dhcp-range=10.1.0.0,static,3600 --dhcp-host="02:00:00:00:00:0c,$1" \
		--dhcp-option=option:router,10.1.0.254 --dhcp-option=option:dns-server,10.1.0.53 \
		--dhcp-range=fd01::,static,64,3600 --dhcp-host="id:00:03:00:01:02:00:00:00:00:0c,[$2]"
}

# The server forgets what it gave and gives something else, and a client that starts asks anew.
server_renumbers() { # ADDRESS ADDRESS-OF-IPv6
	kill_hard dnsmasq
	server_start "$1" "$2"
	rm -f /var/lib/dhcpcd/eth0.lease*
}

has_address() { # ADDRESS/LEN
	grep -qF " $1 " <(ip -n n1 -o address show dev eth0)
}

# By the mark of netconf, and with the lease's own address.
has_default() { # SOURCE
	grep -qF "default via 10.1.0.254 dev eth0 src $1 metric 1024" <(ip -n n1 route show default proto 0xf2)
}

# A client is several processes; the first of each has this title.
clients() {
	pgrep -c -f '^dhcpcd: eth0 \[ip[46]\]$' || true
}

clients_are() { # HOW-MANY
	[[ $(clients) -eq $1 ]] && status_is '[.leases[].running | select(.)] | length' "$1"
}

no_clients() {
	[[ $(clients) -eq 0 ]]
}

refused() { # COMMAND...
	! "$@"
}

lease_file=$T/run-n1/dhcp4-eth0.lease

for address in 10.1.0.1 10.1.0.50; do
	config_write "static-$address" <<-YAML
		apiVersion: v1alpha1
		kind: LinkConfig
		name: eth0
		addresses:
		  - address: $address/24
		routes:
		  - gateway: 10.1.0.254
	YAML
done

config_write dhcp <<'YAML'
apiVersion: v1alpha1
kind: DHCPv4Config
name: eth0
ignoreHostname: true
---
apiVersion: v1alpha1
kind: DHCPv6Config
name: eth0
---
apiVersion: v1alpha1
kind: StaticHostConfig
name: 10.1.0.254
hostnames: [gateway]
---
apiVersion: fairlead/v1
kind: NetworkPolicyConfig
drift: report
YAML

server_start 10.1.0.50 fd01::10c
netconf_start
apply static-10.1.0.50
fairlead n1 net confirm >/dev/null
network >"$LOG_DIR/before"
cp /etc/resolv.conf "$LOG_DIR/resolv-before"

say "from a static address to the same one as a lease: it is never away"
spawn monitor n1 ip monitor address route
apply dhcp --confirm-within 600s
expect "the address of the lease" has_address 10.1.0.50/24
expect "the way out" has_default 10.1.0.50
wait_until 60 has_address fd01::10c/128
expect "the resolver of the lease" grep -q '^nameserver 10.1.0.53$' /etc/resolv.conf
expect_equal "what was taken away" "$(grep -E '^Deleted .*(10\.1\.0\.50|default)' "$LOG_DIR/monitor.log" || true)" ""

say "nobody has confirmed yet, the daemon is killed, and the server gives another address"
kill_hard netconf
server_renumbers 10.1.0.50 fd01::20c
netconf_start
expect "it still waits" status_is .change.phase awaiting
wait_until 60 has_address fd01::20c/128
expect "the old one has gone" test -z "$(ip -n n1 -o address show dev eth0 to fd01::10c)"
wait_until 20 clients_are 2

say "undone by yet another one, nothing of it stays, nor a client"
kill_hard netconf
netconf_start
fairlead n1 net rollback >/dev/null
wait_until 40 status_is .last.how rolled-back
wait_until 20 is_before
expect "resolvers as before" cmp "$LOG_DIR/resolv-before" /etc/resolv.conf
wait_until 20 clients_are 0
expect "nothing is left of them" test -z "$(ls "$T/run-n1" | grep dhcp)"

say "confirmed; applied again, there is nothing to do"
apply dhcp
wait_until 60 has_address fd01::20c/128
fairlead n1 net confirm >/dev/null
wait_until 20 status_is .drift.state none
network >"$LOG_DIR/before"
apply dhcp
expect "it says so" grep -q "nothing to do" "$LOG_DIR/apply.log"

say "the daemon is killed, then stopped: the next one has the leases at once, and one client for each"
: >"$LOG_DIR/monitor.log"
kill_hard netconf
netconf_start
expect_equal "its leases" "$(fairlead n1 -o json net status | jq -r '[.leases[].addresses[]] | join(" ")')" \
	'10.1.0.50/24 fd01::20c/128'
wait_until 20 clients_are 2
signal TERM netconf
wait_exit 20 netconf
wait_until 20 no_clients
: >"$LOG_DIR/netconf.log"
netconf_start
wait_until 20 clients_are 2
wait_until 20 log_says netconf 'leased 10\.1\.0\.50'
expect "all is as before" is_before
expect_equal "what was taken away" "$(grep -E '^Deleted ' "$LOG_DIR/monitor.log" || true)" ""

say "the disk is read-only, and two documents mean one device: leases of others are followed, and nothing
is changed, until all is well"
signal TERM netconf
wait_exit 20 netconf
wait_until 20 no_clients
# What is written behind netconf's back is there at once.
mkdir "$T/disk"
mount --bind "$T/state" "$T/disk"
mount --bind "$T/state" "$T/state"
confirmed=$T/disk/confirmed/config.yaml
cp "$confirmed" "$T/confirmed.yaml"
cat >>"$confirmed" <<'YAML'
---
apiVersion: v1alpha1
kind: LinkConfig
name: way
mtu: 1400
---
apiVersion: v1alpha1
kind: LinkConfig
name: eth1
mtu: 1300
YAML
mount -o remount,bind,ro "$T/state"
ip -n n1 link property add dev eth1 altname way
server_renumbers 10.1.0.50 fd01::30c
spawn notify n1 socat -u "UNIX-RECV:$T/notify" -
wait_until 10 test -S "$T/notify"
NOTIFY_SOCKET="$T/notify" netconf_start
wait_until 20 clients_are 2
wait_until 20 grep -q READY=1 "$LOG_DIR/notify.log"
expect "it says why" test -n "$(fairlead n1 -o json net status | jq -r .blocked.reason)"
wait_until 60 has_address fd01::30c/128
expect "it says what is disputed" log_says netconf 'event=net_ambiguous'
expect "eth1 is left alone" has_line 'mtu 1500' < <(ip -n n1 link show dev eth1)
expect "no change" refused apply static-10.1.0.1
ip -n n1 link property del dev eth1 altname way
cp "$T/confirmed.yaml" "$confirmed"

say "it can be written, and the files of a change are damaged: the same, until they are discarded"
mkdir -p "$T/disk/transaction"
echo damaged >"$T/disk/transaction/state.json"
mount -o remount,bind,rw "$T/state"
wait_until 20 status_is .blocked.id unreadable
wait_until 20 clients_are 2
expect "no change" refused apply static-10.1.0.1
fairlead n1 net discard unreadable >/dev/null
wait_until 20 status_is .drift.state none
wait_until 20 clients_are 2
network >"$LOG_DIR/before"

say "to a static address, and back before it is confirmed"
apply static-10.1.0.1 --confirm-within 600s
expect "the static one" has_address 10.1.0.1/24
# The client has seen that its address is not there any more, and its hook was called.
wait_until 20 log_says netconf 'probing address 10\.1\.0\.50'
fairlead n1 net rollback >/dev/null
wait_until 40 status_is .last.how rolled-back
for_seconds 2 has_address 10.1.0.50/24
wait_until 20 is_before

say "the server gives another address: the old one goes, and what no lease is about stays as it is"
cp "$T/hosts" /etc/hosts
followed() {
	grep -c lease_followed "$LOG_DIR/netconf.log" || true
}
followed_before=$(followed)
is_followed() {
	[[ $(followed) -gt $followed_before ]]
}
touch "$T/no-arp"
server_renumbers 10.1.0.70 fd01::30c
wait_until 20 clients_are 2
pkill -KILL -f '^dhcpcd: eth0 \[ip4\]$'
wait_until 60 has_address 10.1.0.70/24
wait_until 10 has_default 10.1.0.70
wait_until 10 test -z "$(ip -n n1 -o address show dev eth0 to 10.1.0.50)"
wait_until 20 is_followed
expect "no lease is about hosts" cmp "$T/hosts" /etc/hosts

say "the server is lost, and the client starts anew and gives up: the address goes at its time, also
without netconf"
kill_hard dnsmasq netconf
netconf_start
wait_until 60 log_says netconf 'DHCP lease expired'
for_seconds 1 has_address 10.1.0.70/24
: >"$LOG_DIR/monitor.log"
read -r uptime _ </proc/uptime
tr '\0' '\n' <"$lease_file" | sed "s/^new_dhcp_lease_time=.*/new_dhcp_lease_time=5/; s/^fairlead_uptime=.*/fairlead_uptime=$uptime/" |
	tr '\n' '\0' >"$lease_file.new"
mv "$lease_file.new" "$lease_file"
# Heard, and not looked for: on a slow machine it has gone before anybody looks.
the_kernel_knows() {
	has_line -E 'valid_lft [1-5]sec' < <(grep -A 1 -E '^[0-9]+: eth0 +inet 10\.1\.0\.70/24 ' "$LOG_DIR/monitor.log")
}
wait_until 20 the_kernel_knows
kill_hard netconf
no_address() {
	! has_address 10.1.0.70/24 && ! has_default 10.1.0.70
}
wait_until 30 no_address
expect "IPv6 stays" has_address fd01::30c/128
netconf_start
no_resolver() {
	cmp "$LOG_DIR/resolv-before" /etc/resolv.conf
}
wait_until 10 no_resolver
