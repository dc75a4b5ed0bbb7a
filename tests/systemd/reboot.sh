# SPDX-License-Identifier: Apache-2.0
# reboots
# A node that boots, by itself and to the target that nodes boot to: first after `systemctl reboot`, then after
# all processes ended at once. Each time the network that was confirmed is there when network-online.target is reached, a
# change that nobody had confirmed is not; all four run, and the VIP is answered for, without anybody's help.

UNIT='fairlead-*'
BOOTS=/var/lib/boots # a line for each

# What a machine has from the beginning, and others on its link; what runs etcd on a node; and who looks at the
# network once it is said to be online.
units_make() {
	declare -f node_surroundings >/surroundings
	echo node_surroundings >>/surroundings
	cat >/etc/systemd/system/boot-surroundings.service <<-UNIT
		[Unit]
		DefaultDependencies=no
		Before=fairlead-netconf-boot.service
		[Service]
		Type=oneshot
		RemainAfterExit=yes
		ExecStart=/bin/bash -e /surroundings
	UNIT
	cat >/etc/systemd/system/boot-online.service <<-UNIT
		[Unit]
		Wants=network-online.target
		After=network-online.target
		[Service]
		Type=oneshot
		ExecStart=/bin/ip -oneline address show dev lan0
		StandardOutput=file:/run/online
	UNIT
	systemctl daemon-reload
	systemctl add-wants -q multi-user.target boot.service boot-surroundings.service boot-online.service containerd.service
	systemctl set-default -q multi-user.target
}

# An operator's change, which cuts nobody off and waits for a confirmation: another address.
change_begin() { # ADDRESS
	sed -i "s|^addresses: .*|addresses: [{address: 10.9.0.1/24}, {address: $1/24}]|" /etc/fairlead/config.yaml
	sync /etc/fairlead/config.yaml "$BOOTS"
	fairlead net apply --confirm-within 1h
	has_address "$1"
	[[ $(fairlead -o json net status | jq .change) != null ]]
}

has_address() { # ADDRESS
	[[ -n $(ip -oneline address show dev lan0 to "$1") ]]
}

# How vipd came to the address.
reason() {
	fairlead -o json vip status | jq -r .reason
}

came_up() {
	wait_until 60 is_owner
	wait_until 60 test -s /run/online
	grep ' 10.9.0.1/24 ' /run/online
	refute grep "$1/24" /run/online
	refute has_address "$1"
	[[ $(systemctl show -p Result --value fairlead-netconf-boot) == success ]]
	wait_until 60 all_run $DAEMONS
	[[ $(fairlead -o json net status | jq -c '[.change, .drift.state]') == '[null,"none"]' ]]
	[[ -z $(systemctl list-units --failed --no-legend 'fairlead-*' 'boot-*' containerd.service) ]]
	wait_until 60 metrics_are_there
	has_snapshot
	connections_open
	connections_are_there
}

touch "$BOOTS"
case $(wc -l <"$BOOTS") in
0)
	node_make
	systemctl enable -q fairlead.target
	units_make
	systemctl start fairlead.target
	wait_until 60 is_owner
	wait_until 60 has_snapshot
	fairlead net apply
	fairlead net confirm
	echo booted >"$BOOTS"
	change_begin 10.9.0.77
	systemctl reboot
	exec sleep infinity
	;;
1)
	came_up 10.9.0.77
	[[ $(reason) == stopping ]]
	echo booted >>"$BOOTS"
	change_begin 10.9.0.78
	systemctl reboot -ff
	exec sleep infinity
	;;
*)
	came_up 10.9.0.78
	[[ $(reason) =~ ^[a-z] && $(reason) != stopping && $(reason) != null ]]
	;;
esac
