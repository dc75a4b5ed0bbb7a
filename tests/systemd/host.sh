# SPDX-License-Identifier: Apache-2.0
# What netconf writes for name servers and time servers, as those read it whom it is for: systemd-resolved,
# systemd-timesyncd and chronyd themselves. None of them may set a clock here.
# unpacks: dbus dbus-bin dbus-daemon dbus-system-bus-common systemd-resolved systemd-timesyncd chrony

UNIT=chrony

# What its unit asks for and a container is not given, and the right to set the clock.
tame() { # SERVICE [LINE]...
	mkdir -p "/run/systemd/system/$1.service.d"
	printf '[Unit]\nConditionVirtualization=\nConditionCapability=\n[Service]\nPrivateDevices=no\n' \
		>"/run/systemd/system/$1.service.d/boot.conf"
	printf '%s\n' "${@:2}" >>"/run/systemd/system/$1.service.d/boot.conf"
}

time_servers_are() { # ADDRESS
	[[ $(timedatectl show-timesync -p SystemNTPServers --value) == "$1" ]]
}

resolvers_are() { # LINE
	[[ $(resolvectl dns | grep '^Global:') == "Global: $1" ]]
}

chrony_asks() { # ADDRESS
	[[ $(chronyc -n sources | awk '/^\^/ { print $2 }') == "$1" ]]
}

ip link add lan0 type veth peer name lan1
printf 'u %s -\n' messagebus systemd-resolve systemd-timesync _chrony | systemd-sysusers -
tame systemd-resolved
tame systemd-timesyncd CapabilityBoundingSet= AmbientCapabilities=
tame chrony CapabilityBoundingSet=~CAP_SYS_TIME
rm -f /etc/systemd/system/systemd-timesyncd.service
systemctl daemon-reload
systemctl start dbus.socket
mkdir -p /run/systemd/resolve
rm -f /etc/resolv.conf
ln -s /run/systemd/resolve/stub-resolv.conf /etc/resolv.conf
systemctl start systemd-resolved

mkdir -p /etc/fairlead
cat >/etc/fairlead/config.yaml <<'YAML'
apiVersion: v1alpha1
kind: LinkConfig
name: lan0
addresses: [{address: 10.9.0.1/24}]
---
apiVersion: v1alpha1
kind: ResolverConfig
nameservers: [{address: 10.9.0.53}, {address: "fd09::53"}]
searchDomains: {domains: [cluster.example]}
---
apiVersion: v1alpha1
kind: TimeSyncConfig
ntp: {servers: [10.9.0.123]}
YAML
systemctl start fairlead-netconf-boot
wait_until 60 resolvers_are '10.9.0.53 fd09::53'
[[ $(resolvectl domain | grep '^Global:') == 'Global: cluster.example' ]]
wait_until 60 time_servers_are 10.9.0.123
[[ $(systemctl is-enabled systemd-timesyncd) == enabled ]]

# chrony instead of it, with Debian's configuration but for the servers that it names.
systemctl disable --now -q systemd-timesyncd
rm /lib/systemd/system/systemd-timesyncd.service
mkdir -p /etc/chrony /var/lib/chrony /var/log/chrony
grep -v '^pool ' /usr/share/chrony/chrony.conf >/etc/chrony/chrony.conf
echo 'DAEMON_OPTS="-F 0 -x"' >/etc/default/chrony
systemctl daemon-reload
systemctl start chrony
refute chrony_asks 10.9.0.123
systemctl restart fairlead-netconf-boot
wait_until 60 chrony_asks 10.9.0.123
