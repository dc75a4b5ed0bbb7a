# SPDX-License-Identifier: Apache-2.0
# fairlead.target: enabled, it also has the network made before network-online.target. It starts all
# four, and `fairlead support` finds their logs. A connection to the VIP and one through prism live through
# restarts and reloads, and a hang of any daemon ends with its watchdog. The target's end stops all but
# netconf; at shutdown the address is handed over while etcd still runs.

UNIT='fairlead-*'

hung_ones_are_back() {
	local daemon
	for daemon in $DAEMONS; do
		[[ $(systemctl show -p NRestarts --value "fairlead-$daemon") -ge 1 ]] || return 1
	done
	all_run $DAEMONS && is_owner
}

has_own_address() {
	[[ -n $(ip -oneline address show dev lan0 to 10.9.0.1) ]]
}

node_make
systemctl enable -q fairlead.target
systemctl start network-online.target
has_own_address
systemctl start fairlead.target
wait_until 60 is_owner
wait_until 60 has_snapshot
all_run $DAEMONS
wait_until 30 metrics_are_there

# What the journal and systemd themselves have for `support`.
fairlead support --file /run/support.tar.gz >/dev/null
mkdir /run/support
tar -C /run/support --strip-components=1 -xzf /run/support.tar.gz
for daemon in $DAEMONS; do
	grep -q 'event=starting' "/run/support/logs/fairlead-$daemon.log"
	grep -q "^fairlead-$daemon.service .* active .*running" /run/support/SUMMARY.md
	grep -q "fairlead-$daemon.service" /run/support/system/units.txt
done
refute grep -E 'journalctl|systemctl|logs/fairlead-(vipd|prism|etcdwatch|netconf).log:' <(sed -n '/What is missing/,/^## Secrets/p' /run/support/SUMMARY.md)

connections_open
connections_are_there

old=$(main_pid vipd)
systemctl restart fairlead-vipd fairlead-netconf fairlead-etcdwatch
[[ $(main_pid vipd) != "$old" ]]
systemctl reload fairlead-vipd fairlead-prism fairlead-etcdwatch fairlead-netconf
wait_until 60 is_owner
wait_until 30 metrics_are_there
connections_are_there
vip_was_kept

# All hang at once. The address goes and comes, as vipd's own fence wants it.
for daemon in $DAEMONS; do
	systemctl kill --signal=STOP --kill-who=main "fairlead-$daemon"
done
wait_until 120 hung_ones_are_back
for daemon in $DAEMONS; do
	journalctl -u "fairlead-$daemon" -o cat | grep 'Watchdog timeout' >/dev/null
done
has_vip

systemctl stop fairlead.target
wait_until 30 eval '! has_vip'
refute all_run vipd
refute all_run prism
refute all_run etcdwatch
all_run netconf
has_own_address

# What is stopped after vipd looks whether the address is gone, and etcd knows it.
systemctl start fairlead.target
wait_until 60 is_owner
cat >/run/handed-over <<SH
exec >>$WORK/out 2>&1
ip -oneline address show dev lan0 >$WORK/addresses
ETCDCTL_API=3 etcdctl get --print-value-only fairlead/v1/vip/$VIP/owner >$WORK/owner
if ! grep " $VIP/" $WORK/addresses && grep '"released":true.*"reason":"stopping"' $WORK/owner; then
	rm $WORK/promise
fi
SH
mkdir -p /run/systemd/system/{containerd,fairlead-vipd}.service.d
# Who does not wait for vipd comes too early.
printf '[Service]\nExecStop=/bin/sleep 2\n' >/run/systemd/system/fairlead-vipd.service.d/slow.conf
printf '[Service]\nExecStop=/bin/sh /run/handed-over\n' >/run/systemd/system/containerd.service.d/stop.conf
systemctl daemon-reload
echo 'the address is handed over before etcd is stopped' >"$WORK/promise"
