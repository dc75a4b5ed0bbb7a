# SPDX-License-Identifier: Apache-2.0
# installs: package
# The package's life on a node: installed it starts nothing; an upgrade keeps the address, the network and
# every connection while all four programs become the new ones; a removal hands the address over and leaves
# the configuration; a purge leaves what cannot be made again, and says so.

UNIT='fairlead-*'

make_next_version() {
	dpkg-deb -R /fairlead.deb /run/next
	sed -i 's/^Version: .*/&+next/' /run/next/DEBIAN/control
	dpkg-deb -b /run/next /run/next.deb >/dev/null
}

nothing_is_enabled() {
	local unit
	for unit in fairlead.target fairlead-prism.socket fairlead-{vipd,prism,etcdwatch,netconf,netconf-boot,netconf-late}.service; do
		[[ $(systemctl is-enabled "$unit" || true) == disabled ]] || return 1
		[[ $(systemctl is-active "$unit" || true) == inactive ]] || return 1
	done
}

# The file that it runs is the one on the disk.
all_are_new() {
	local daemon
	for daemon in $DAEMONS; do
		[[ $(readlink "/proc/$(main_pid "$daemon")/exe") == "/usr/sbin/$daemon" ]] || return 1
	done
	is_owner
}

rm -f /usr/sbin/policy-rc.d
make_next_version
ip -oneline address >/run/before
dpkg -i /fairlead.deb
nothing_is_enabled
ip -oneline address | cmp - /run/before
[[ -z $(find /etc/fairlead -type f) ]]
dpkg -i /run/next.deb
nothing_is_enabled

node_make
systemctl enable -q fairlead.target
systemctl start fairlead-netconf-boot fairlead.target
wait_until 60 is_owner
wait_until 60 has_snapshot
all_run $DAEMONS
connections_open
connections_are_there
prism=$(main_pid prism)
vipd=$(main_pid vipd)
dpkg -i --force-downgrade /fairlead.deb
wait_until 60 all_are_new
connections_are_there
vip_was_kept
all_run $DAEMONS
[[ $(main_pid prism) == "$prism" ]]
[[ $(main_pid vipd) != "$vipd" ]]
[[ $(systemctl is-enabled fairlead.target) == enabled ]]

# Who does not accept the configuration goes on as it was, and the upgrade goes on as well.
vipd=$(main_pid vipd)
cp /etc/fairlead/config.yaml /run/good.yaml
sed -i 's/^upstreams:/upstraems:/; s/^link:/lnik:/' /etc/fairlead/config.yaml
dpkg -i /run/next.deb >/run/said 2>&1
grep 'prism runs on as it was' /run/said
grep 'vipd runs on as it was' /run/said
connections_are_there
vip_was_kept
[[ $(main_pid vipd) == "$vipd" ]]
cp /run/good.yaml /etc/fairlead/config.yaml

touch /etc/fairlead/age.key
dpkg -r fairlead 2>&1 | grep 'the network stays as netconf made it'
refute has_vip
[[ -n $(ip -oneline address show dev lan0 to 10.9.0.1) ]]
for name in $DAEMONS prism-probe; do
	refute pgrep -x "$name"
done
cmp /run/good.yaml /etc/fairlead/config.yaml

dpkg -P fairlead >/run/said 2>&1
grep -q '/var/lib/fairlead/etcdwatch is kept' /run/said
grep -q '/etc/fairlead is kept' /run/said
has_snapshot
[[ $(find /etc/fairlead -type f) == /etc/fairlead/age.key ]]
[[ $(ls /var/lib/fairlead) == etcdwatch ]]
[[ ! -e /run/fairlead ]]
[[ -z $(find /etc/systemd /lib/systemd /usr/lib/systemd /var/lib/systemd/deb-systemd-helper* -name '*fairlead*') ]]
