# SPDX-License-Identifier: Apache-2.0
# installs: package
# The package's life on a node: installed it starts nothing; an upgrade keeps the address, the network and
# every connection while all four programs become the new ones; a removal hands the address over and leaves
# the configuration; a purge leaves what cannot be made again, and says so. What docs/install.md and
# docs/quickstart.md say of it is typed from there, and a network changed as the latter does.

UNIT='fairlead-*'

make_version() { # SUFFIX
	rm -rf /run/version
	dpkg-deb -R /fairlead.deb /run/version
	sed -i "s/^Version: .*/&+$1/" /run/version/DEBIAN/control
	dpkg-deb -Znone -b /run/version "/run/$1.deb" >/dev/null
}

# Under the name of the package that was built, which is the one that the pages have. Apt knows of no other
# packages, and is told yes where it asks for more than it was told.
page_package() { # FILE
	cp "$1" "/root/fairlead_$(dpkg-deb -f /fairlead.deb Version)_$(dpkg-deb -f /fairlead.deb Architecture).deb"
	printf '%s\n' 'Dir::Etc::SourceList "/dev/null";' 'Dir::Etc::SourceParts "/dev/null";' \
		'APT::Get::Assume-Yes "true";' 'Dpkg::Use-Pty "false";' >/run/apt.conf
	export APT_CONFIG=/run/apt.conf
}

has_network_of_page() {
	[[ -n $(ip -oneline address show dev eth1 to 10.100.0.11) ]]
}

nothing_is_enabled() {
	local unit
	for unit in fairlead.target fairlead-prism.socket fairlead-{vipd,prism,etcdwatch,netconf,netconf-boot,netconf-late}.service; do
		[[ $(systemctl is-enabled "$unit" || true) == disabled ]] || return 1
		[[ $(systemctl is-active "$unit" || true) == inactive ]] || return 1
	done
	# With the next sleep, where vipd runs.
	[[ $(systemctl is-enabled fairlead-vipd-sleep) == static ]]
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
make_version next
make_version second
ip link add eth1 type veth peer name eth2
ip link set eth2 up
ip -oneline address >/run/before
page_package /fairlead.deb
page_run install.md '## Install' 'apt-get install'
nothing_is_enabled
ip -oneline address | cmp - /run/before
[[ -z $(find /etc/fairlead -type f) ]]
dpkg -i /run/next.deb
nothing_is_enabled

page_run quickstart.md '## Change the network' 'systemctl enable'
ip -oneline address | cmp - /run/before
page_run quickstart.md '## Change the network' 'kind: LinkConfig|net confirm'
has_network_of_page

node_make
fairlead net apply
fairlead net confirm
has_network_of_page
page_run install.md '## Install' 'fairlead.target'
[[ $(systemctl is-enabled fairlead-netconf-boot) == enabled ]]
wait_until 60 is_owner
wait_until 60 has_snapshot
all_run $DAEMONS
connections_open
connections_are_there
prism=$(main_pid prism)
vipd=$(main_pid vipd)
epoch=$(fairlead -o json vip status | jq .epoch)
page_package /run/second.deb
page_run quickstart.md '## Upgrade' 'apt-get install'
wait_until 60 all_are_new
[[ $(fairlead -o json vip status | jq .epoch) == "$epoch" ]]
connections_are_there
vip_was_kept
all_run $DAEMONS
[[ $(main_pid prism) == "$prism" ]]
[[ $(main_pid vipd) != "$vipd" ]]
[[ $(systemctl is-enabled fairlead.target) == enabled ]]

page_run quickstart.md '## Upgrade' 'systemctl reload'
vip_was_kept

# Who does not accept the configuration goes on as it was, and the upgrade goes on as well.
vipd=$(main_pid vipd)
cp /etc/fairlead/config.yaml /run/good.yaml
sed -i 's/^upstreams:/upstraems:/; s/^link:/lnik:/' /etc/fairlead/config.yaml
dpkg -i --force-downgrade /run/next.deb >/run/said 2>&1
grep 'prism runs on as it was' /run/said
grep 'vipd runs on as it was' /run/said
connections_are_there
vip_was_kept
[[ $(main_pid vipd) == "$vipd" ]]
cp /run/good.yaml /etc/fairlead/config.yaml

touch /etc/fairlead/age.key
page_run quickstart.md '## Remove' 'apt-get remove' >/run/said 2>&1
grep 'the network stays as netconf made it' /run/said
[[ $PAGE_BLOCKS -eq $(grep -h '^```sh node$' "$WORK"/docs/*.md | wc -l) ]]
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
