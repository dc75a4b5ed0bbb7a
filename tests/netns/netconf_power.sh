#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Power is lost: between the checkpoint and the first step, in the middle of a change, and after a
# change was confirmed. What a boot makes of the network is what was confirmed last.
. "$(dirname "$0")/lib-netconf.sh"

NETCONF_DAEMON=$BUILD/tests/fault/netconf-dies
export NETCONF_DIE=$T/die NETCONF_GUARD_LOCK=$T/state/guard.lock

mkdir -p "$T/files"
cat >"$T/files/net.yaml" <<'YAML'
apiVersion: v1alpha1
kind: LinkConfig
name: eth0
addresses:
  - address: 10.1.0.1/24
YAML
sed 's/10\.1\.0\.1/10.1.0.2/' "$T/files/net.yaml" >"$T/new.yaml"

boot() {
	node_new
	netconf --once --config "$T/files" --state-dir "$T/state" >>"$LOG_DIR/netconf-once.log" 2>&1
}

has_address() { # ADDRESS
	expect "the address $1" grep -qF "inet $1/24" <(ip -n n1 -o address show dev eth0)
}

# All of the machine is gone but for its disk.
power_off() {
	kill_hard netconf
	wait_until 20 nobody_guards
	node_gone
}

node_gone() {
	# A namespace goes in the kernel's own time, and its links with it.
	ip -n sw link delete leg0
	ip -n sw link delete leg1
	ip netns delete n1
}

lose_power() { # STEP
	echo "$1 all" >"$NETCONF_DIE"
	apply new &
	cli=$!
	wait_until 20 gone netconf
	kill -KILL "$cli"
	wait "$cli" 2>/dev/null || true
	expect "the change was begun" test -e "$T/state/transaction/state.json"
	power_off
}

say "power is lost in the first change of all: the files are what was tried, and not what a boot takes"
node_new
netconf_start
lose_power 1
boot
expect "the network is as before it" test -z "$(ip -n n1 -o -4 address show dev eth0)"
expect "nothing of the files is confirmed" test ! -s "$T/state/confirmed/config.yaml"
expect "the change is over" test ! -e "$T/state/transaction/state.json"
node_gone
rm -r "$T/state"

say "the first boot makes a part of its files only: they are not confirmed, but kept for a first change"
cp "$T/files/net.yaml" "$T/whole.yaml"
printf 'routes:\n  - destination: 10.98.0.0/16\n    gateway: 10.77.0.1\n' >>"$T/files/net.yaml"
code=0
boot || code=$?
expect_equal "the exit code" "$code" 1
has_address 10.1.0.1
expect "it is not confirmed" test ! -e "$T/state/confirmed/config.yaml"
expect "it is kept" grep -q 10.1.0.1 "$T/state/in-part.yaml"
node_gone
rm -r "$T/state"
mv "$T/whole.yaml" "$T/files/net.yaml"

say "the first boot applies what stands in the files, and it is the confirmed one from then on"
boot
has_address 10.1.0.1
expect "it is kept" grep -q 10.1.0.1 "$T/state/confirmed/config.yaml"

for step in 1 2; do
	say "power is lost before step $step of a change"
	netconf_start
	lose_power "$step"
	boot
	has_address 10.1.0.1
	expect "it is the only one" test "$(ip -n n1 -o -4 address show dev eth0 | wc -l)" -eq 1
	expect "the change is over" test ! -e "$T/state/transaction/state.json"
	expect "it says so" grep -q '"how": "void"' "$T/state/last.json"
done

say "a change is confirmed, and power is lost: the boot applies that, and not the files"
netconf_start
apply new
sed 's/"awaiting"/"confirmed"/' "$T/state/transaction/state.json" >"$T/confirmed-state.json"
fairlead n1 net confirm >/dev/null
wait_until 10 nobody_guards
power_off
boot
has_address 10.1.0.2

say "a confirmation was not finished, and the disk is read-only at the boot: it applies it nevertheless"
node_gone
mkdir -p "$T/state/transaction"
cp "$T/state/confirmed/config.yaml" "$T/state/transaction/config.yaml"
sed -i 's/10\.1\.0\.2/10.1.0.1/' "$T/state/confirmed/config.yaml"
cp "$T/confirmed-state.json" "$T/state/transaction/state.json"
mount --bind "$T/state" "$T/state"
mount -o remount,bind,ro "$T/state"
code=0
boot || code=$?
expect_equal "the exit code" "$code" 1
has_address 10.1.0.2
umount "$T/state"

say "the next boot finishes it"
node_gone
boot
has_address 10.1.0.2
expect "it is kept" grep -q 10.1.0.2 "$T/state/confirmed/config.yaml"
expect "the change is over" test ! -e "$T/state/transaction/state.json"

say "a change of an earlier boot has left files that cannot be put back: its way back is kept"
node_gone
mkdir -p "$T/state/transaction"
sed 's/"confirmed"/"awaiting"/' "$T/confirmed-state.json" >"$T/state/transaction/state.json"
echo '{"before": {}, "after": 1}' >"$T/state/transaction/beside.json"
code=0
boot || code=$?
expect_equal "the exit code" "$code" 1
has_address 10.1.0.2
expect "the way back is there" test -e "$T/state/transaction/beside.json"

say "the daemon tries it again, and finishes it as soon as it can be done"
netconf_start
wait_until 20 log_says netconf "blocked id="
echo '{"before": {}, "after": {}, "links": []}' >"$T/state/transaction/beside.json"
wait_until 20 test ! -e "$T/state/transaction/state.json"
expect "it says so" grep -q '"how": "void"' "$T/state/last.json"
kill_hard netconf
node_gone
boot

say "a boot while a change of this boot is under way leaves it to its guard"
netconf_start
apply new
sed 's/10\.1\.0\.2/10.1.0.3/' "$T/new.yaml" >"$T/third.yaml"
apply third
kill_hard netconf
code=0
netconf --once --config "$T/files" --state-dir "$T/state" >>"$LOG_DIR/netconf-once.log" 2>&1 || code=$?
expect_equal "the exit code" "$code" 1
has_address 10.1.0.3
