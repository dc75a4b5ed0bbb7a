# SPDX-License-Identifier: Apache-2.0
# fairlead-vipd.service beside an etcd: it takes the address, with a gate in the kernel, and has it again
# when it was killed. Restarted it never gives it up; stopped it does. While the machine sleeps (here: while
# systemd believes it) nobody has it, and afterwards vipd runs if it did before.

UNIT=fairlead-vipd

has_address() {
	ip -json address show dev lan0 | jq -e '.[].addr_info[] | select(.local == "10.9.0.100")' >/dev/null
}

is_owner() {
	[[ $(fairlead -o json vip status | jq -r .state) == owner ]]
}

is() { # STATE
	[[ $(systemctl is-active "$UNIT") == "$1" ]]
}

sleep_is_over() {
	[[ $(systemctl is-active fairlead-vipd-sleep) == inactive ]]
}

ip link add lan0 type veth peer name lan1
ip link set lan1 up
ip link set lan0 up
ip address add 10.9.0.1/24 dev lan0
etcd_start
cat >/etc/fairlead/config.yaml <<YAML
apiVersion: fairlead/v1
kind: EtcdClientConfig
endpoints: [http://127.0.0.1:2379]
---
apiVersion: v1alpha1
kind: Layer2VIPConfig
name: 10.9.0.100
link: lan0
---
apiVersion: fairlead/v1
kind: VIPPolicyConfig
healthCheck: {enabled: false}
YAML
systemctl start "$UNIT"
wait_until 60 is_owner
has_address
systemctl reload "$UNIT"
systemctl kill --signal=KILL --kill-who=main "$UNIT"
wait_until 60 is_owner
has_address
systemctl restart "$UNIT"
has_address
wait_until 60 is_owner

mkdir -p /run/systemd/system
cat >/run/systemd/system/systemd-suspend.service <<'UNIT'
[Unit]
DefaultDependencies=no
Requires=sleep.target
After=sleep.target

[Service]
Type=oneshot
ExecStart=/bin/sh -c '{ ip -oneline address show dev lan0; systemctl is-active fairlead-vipd; } >/run/asleep || true'
UNIT
# Nobody need enable anything for it, and who disables takes nothing away.
systemctl enable -q "$UNIT" fairlead.target
systemctl disable -q fairlead.target "$UNIT"
systemctl start systemd-suspend.service
grep -q 10.9.0.1/24 /run/asleep
refute grep 10.9.0.100 /run/asleep
wait_until 60 is_owner
has_address
wait_until 60 sleep_is_over

# One that is about to run has no address yet, and would take it while the machine sleeps.
# (What runs before it does not end well when it is stopped.)
mkdir -p "/run/systemd/system/$UNIT.service.d"
printf '[Service]\nExecStartPre=/bin/sh -c "until test -e /run/go; do sleep 0.1; done"\n' \
	>"/run/systemd/system/$UNIT.service.d/slow.conf"
systemctl daemon-reload
systemctl stop "$UNIT"
systemctl start --no-block "$UNIT"
wait_until 30 is activating
systemctl start systemd-suspend.service
grep -qxE 'inactive|failed' /run/asleep
touch /run/go
wait_until 60 is_owner
wait_until 60 sleep_is_over

# A shutdown that begins meanwhile conflicts with no job of the sleep.
refute grep -w shutdown.target <(systemctl show -p Conflicts fairlead-vipd-sleep)

stop_cleanly
refute has_address
systemctl start systemd-suspend.service
refute systemctl is-active "$UNIT"
refute systemctl is-failed fairlead-vipd-sleep
