# SPDX-License-Identifier: Apache-2.0
# fairlead-netconf.service with a real DHCP server: the node's only address is a lease, which is there when
# network-online.target is reached; it stays when the daemon is killed, restarted or stopped.

UNIT=fairlead-netconf

has_address() {
	ip -json address show dev lan0 | jq -e '.[].addr_info[] | select(.local == "10.9.0.50")' >/dev/null
}

has_lease() {
	[[ $(fairlead -o json net status | jq -r '[.leases[] | select(.running and (.addresses | length) > 0)] | length') == 2 ]]
}

ip netns add server
ip link add lan0 type veth peer name lan1 netns server
ip link set lan0 address 02:00:00:00:00:0c up
ip -n server link set lo up
ip -n server link set lan1 up
ip -n server address add 10.9.0.1/24 dev lan1
ip -n server address add fd09::1/64 dev lan1 nodad
ip netns exec server dnsmasq --conf-file=/dev/null --interface=lan1 --bind-interfaces --port=0 --no-resolv --no-hosts \
	--no-ping --leasefile-ro --dhcp-authoritative --pid-file=/run/boot-dnsmasq.pid \
	--dhcp-range=10.9.0.0,static,3600 --dhcp-host=02:00:00:00:00:0c,10.9.0.50 \
	--dhcp-option=option:router,10.9.0.1 --dhcp-option=option:dns-server,10.9.0.53 \
	--dhcp-range=fd09::,static,64,3600 --dhcp-host='id:00:03:00:01:02:00:00:00:00:0c,[fd09::50]'
printf '%s\n' 'apiVersion: v1alpha1' 'kind: DHCPv4Config' 'name: lan0' 'ignoreHostname: true' --- \
	'apiVersion: v1alpha1' 'kind: DHCPv6Config' 'name: lan0' >/etc/fairlead/config.yaml
systemctl enable -q fairlead-netconf-boot "$UNIT"
systemctl daemon-reload
systemctl start network-online.target
[[ $(systemctl is-active "$UNIT") == active ]]
has_address
[[ $(ip route show default proto 0xf2) == 'default via 10.9.0.1 dev lan0 src 10.9.0.50 metric 1024 ' ]]
grep -q '^nameserver 10.9.0.53$' /etc/resolv.conf
wait_until 60 has_lease
systemctl kill --signal=KILL --kill-who=main "$UNIT"
wait_until 60 has_lease
has_address
systemctl restart "$UNIT"
wait_until 60 has_lease
has_address
stop_cleanly
has_address
wait_until 30 eval '! pgrep -x dhcpcd'

# A card that is missing holds up what waits for the whole network, and nothing before that.
is_waiting() {
	[[ $(systemctl show -p ActiveState --value fairlead-netconf-late) == activating ]]
}

systemctl stop fairlead-netconf-boot fairlead-netconf-late
rm -rf /var/lib/fairlead/netconf/*
printf '%s\n' 'apiVersion: v1alpha1' 'kind: LinkConfig' 'name: lan0' 'addresses: [{address: 10.98.0.1/24}]' --- \
	'apiVersion: v1alpha1' 'kind: LinkConfig' 'name: lan9' 'addresses: [{address: 10.99.0.1/24}]' \
	>/etc/fairlead/config.yaml
timeout 25 systemctl start fairlead-netconf-boot
[[ -n $(ip -oneline address show dev lan0 to 10.98.0.1) ]]
systemctl start --no-block fairlead-netconf-late
wait_until 20 is_waiting
ip link add lan9 type veth peer name lan10
wait_until 60 systemctl is-active fairlead-netconf-late
[[ -n $(ip -oneline address show dev lan9 to 10.99.0.1) ]]
