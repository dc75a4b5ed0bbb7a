# SPDX-License-Identifier: Apache-2.0
# reboots
# A node that boots, by itself and to the target that nodes boot to: after `systemctl reboot`, and twice after its power was
# gone, with all that nobody had synced. Each time the network that was confirmed is there when
# network-online.target is reached, and a change that nobody had confirmed is not, neither in the kernel nor in files; one that
# somebody had confirmed just before is. All four run, the VIP is answered for and every snapshot is still sound, without
# anybody's help.

UNIT='fairlead-*'
BOOTS=/var/lib/boots # the kernel's id of each boot, which in namespaces is that of the machine around
LEFT=/var/lib/left   # what must be there after the next one
NAMES='cp-1 cp-1'    # in the file and in the kernel
NAMES_CHANGED='renamed renamed nameserver 10.9.0.2'
IN_NAMESPACES=
[[ ! -e /run/systemd/container ]] || IN_NAMESPACES=yes

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
		ExecStart=/bin/cat /etc/hostname /proc/sys/kernel/hostname /etc/resolv.conf
		StandardOutput=append:/run/online
	UNIT
	systemctl daemon-reload
	systemctl add-wants -q multi-user.target boot.service boot-surroundings.service boot-online.service containerd.service
	systemctl set-default -q multi-user.target
}

# --- before ---------------------------------------------------------------------------------------

# The snapshots that there are, and a new one.
note() {
	fairlead etcd snapshot save hourly "$LEFT/saved.db"
	snapshots >"$LEFT/snapshots"
	cat /proc/sys/kernel/random/boot_id >>"$BOOTS"
	sync "$LEFT"/* "$LEFT" "$BOOTS"
}

# An operator's change, which cuts nobody off and waits for a confirmation: another address and another name, and somebody
# to ask for names.
change_begin() { # ADDRESS
	sed -i "s|^addresses: .*|addresses: [{address: 10.9.0.1/24}, {address: $1/24}]|" /etc/fairlead/config.yaml
	grep -q '^kind: HostnameConfig' /etc/fairlead/config.yaml ||
		printf '%s\n' --- 'apiVersion: v1alpha1' 'kind: HostnameConfig' 'hostname: renamed' --- \
			'apiVersion: v1alpha1' 'kind: ResolverConfig' 'nameservers: [{address: 10.9.0.2}]' >>/etc/fairlead/config.yaml
	sync /etc/fairlead/config.yaml
	fairlead net apply --confirm-within 1h
	[[ $(addresses) == "10.9.0.1/24 $1/24" ]]
	[[ $(names) == "$NAMES_CHANGED" ]]
	[[ $(fairlead -o json net status | jq .change) != null ]]
}

# Nothing is ended, and what nobody has synced is lost, as came_up looks. The kernel's own way would be that of the machine
# around: in namespaces all stand still while what the disk has is put aside.
power_goes() {
	echo lost >"$LEFT/unsynced"
	if [[ -z $IN_NAMESPACES ]]; then
		echo b >/proc/sysrq-trigger
	else
		kill -STOP -1
		cp --sparse=always "$WORK/disk" "$WORK/disk.left"
		systemctl reboot -ff
	fi
	exec sleep infinity
}

# --- seen from outside ----------------------------------------------------------------------------

addresses() {
	ip -oneline address show dev lan0 | addresses_of
}

# The VIP has no network of its own.
addresses_of() {
	sed -n 's|.* inet \([^ ]*/24\) .*|\1|p' | sort | xargs
}

snapshots() {
	fairlead -o json etcd snapshot list --local hourly | jq -r .id | sort
}

# How vipd came to the address.
reason() {
	fairlead -o json vip status | jq -r .reason
}

# The hardware addresses of those who answer for the VIP.
answering() {
	ip netns exec peer busybox arping -c 3 -I lan1 "$VIP" | sed -n 's/.* reply from [^ ]* \[\([^]]*\)\].*/\1/p' | sort -u
}

snapshots_are_sound() {
	local id
	[[ -s $LEFT/snapshots && -z $(comm -23 "$LEFT/snapshots" <(snapshots)) ]]
	while read -r id; do
		rm -f /run/plain.db
		etcdwatch-worker unpack "/var/lib/fairlead/etcdwatch/hourly/$id.db.zst" --to /run/plain.db
		fairlead etcd snapshot verify /run/plain.db
	done <"$LEFT/snapshots"
}

# A daemon that could not read one would have said so, and gone on without.
state_is_whole() {
	local file
	journalctl -b -o cat -u "$UNIT" >/run/said
	grep -q 'event=' /run/said
	refute grep -E 'event=[a-z_]*(damaged|unreadable|unusable|rejected)' /run/said
	find /var/lib/fairlead -name '*.json' >/run/state-files
	[[ -s /run/state-files ]]
	while read -r file; do
		jq -es 'length == 1' "$file" >/dev/null
	done </run/state-files
}

none_failed() {
	local failed
	failed=$(systemctl list-units --failed --no-legend 'fairlead-*' 'boot-*' containerd.service)
	[[ -z $failed ]]
}

came_up() { # HOW NAMES ADDRESS...
	local how=$1 names=$2
	shift 2
	[[ -n $IN_NAMESPACES ]] || refute grep -q "$(</proc/sys/kernel/random/boot_id)" "$BOOTS"
	refute test -s "$LEFT/unsynced"
	wait_until 60 is_owner
	wait_until 60 test -s /run/online
	[[ $(addresses_of </run/online) == "$*" ]]
	[[ $(addresses) == "$*" ]]
	[[ $(names_of /run/online) == "$names" ]]
	[[ $(names) == "$names" ]]
	[[ $(systemctl show -p Result --value fairlead-netconf-boot) == success ]]
	wait_until 60 all_run $DAEMONS
	[[ $(fairlead -o json net status | jq -c '[.change, .last.how, .drift.state]') == "[null,\"$how\",\"none\"]" ]]
	none_failed
	wait_until 60 metrics_are_there
	[[ $(answering) == "$(</sys/class/net/lan0/address)" ]]
	connections_open
	connections_are_there
	snapshots_are_sound
	state_is_whole
}

# The file, the kernel, and whom to ask for others.
names_of() {
	sed -n -e '/^nameserver 10.9.0.2$/p' -e '/^cp-1$/p' -e '/^renamed$/p' "$@" | xargs
}

names() {
	names_of /etc/hostname /proc/sys/kernel/hostname /etc/resolv.conf
}

touch "$BOOTS"
case $(wc -l <"$BOOTS") in
0)
	mkdir "$LEFT"
	echo cp-1 >/etc/hostname
	hostname cp-1
	node_make
	# Whatever the machine is called.
	sed -i 's/^metrics:/name: cp-1\n&/' /etc/fairlead/config.yaml
	systemctl enable -q fairlead.target
	units_make
	systemctl start fairlead.target
	wait_until 60 is_owner
	wait_until 60 has_snapshot
	fairlead net apply
	fairlead net confirm
	note
	change_begin 10.9.0.77
	systemctl reboot
	exec sleep infinity
	;;
1)
	came_up void "$NAMES" 10.9.0.1/24
	[[ $(reason) == stopping ]]
	note
	change_begin 10.9.0.78
	power_goes
	;;
2)
	came_up void "$NAMES" 10.9.0.1/24
	[[ $(reason) =~ ^[a-z] && $(reason) != stopping && $(reason) != null ]]
	note
	change_begin 10.9.0.79
	fairlead net confirm
	power_goes
	;;
*)
	came_up confirmed "$NAMES_CHANGED" 10.9.0.1/24 10.9.0.79/24
	;;
esac
