#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the kernel drops when a link goes down, or is made again, is no fight: a cable that flaps for a
# minute, a link that is set down and up, and a device that is made again end with everything in place
# at once.
# timed: it measures how long the repair takes after the last change.
. "$(dirname "$0")/lib-netconf.sh"

# After the last change; netconf needs 2 s, and the rest is for a machine under load.
SOON_S=5

node_new
mkdir -p "$T/files"
config_write net <<'YAML'
apiVersion: v1alpha1
kind: LinkConfig
name: eth0
up: true
addresses:
  - address: 10.1.0.1/24
  - address: fd01::1/64
routes:
  - gateway: 10.1.0.254
  - gateway: fd01::254
---
apiVersion: v1alpha1
kind: LinkConfig
name: eth7
up: true
mtu: 1400
addresses:
  - address: 10.7.0.1/24
routes:
  - destination: 10.99.0.0/16
    gateway: 10.7.0.254
YAML
ip -n n1 link add eth7 type veth peer name far7 netns sw
ip -n sw link set far7 up
netconf_start
apply net
fairlead n1 net confirm
wait_until 10 status_is .drift.state none

has() { # TEXT COMMAND...: `ip` says it
	local text=$1
	shift
	grep -qF "$text" <(ip -n n1 "$@")
}

is_whole() {
	has "inet 10.1.0.1/24" -o address show dev eth0 && has "inet6 fd01::1/64" -o address show dev eth0 &&
		has "default via 10.1.0.254" route show && has "default via fd01::254" -6 route show &&
		has "inet 10.7.0.1/24" -o address show dev eth7 && has "10.99.0.0/16 via 10.7.0.254" route show &&
		has "mtu 1400" link show eth7
}

expect_whole_soon() {
	local began took
	began=$(now_cs)
	wait_until "$SOON_S" is_whole
	took=$(($(now_cs) - began))
	say "everything is in place after $took hundredths of a second"
	expect "it took no longer than $SOON_S s" test "$took" -le "${SOON_S}00"
	wait_until "$SOON_S" status_is .drift.state none
	expect_equal "what is left alone" "$(fairlead n1 -o json net status | jq '.drift.left_alone | length')" 0
}

say "the node's link is set down and up, within a second and more slowly"
for pause in 0.1 0.1 0.1 0.1 0.1 1.5 1.5 1.5 1.5 1.5; do
	nap 1.2
	ip -n n1 link set eth0 down
	nap "$pause"
	ip -n n1 link set eth0 up
done
expect_whole_soon

say "a cable flaps for a minute"
for i in {1..30}; do
	nap 0.9
	ip -n sw link set leg0 down
	nap 0.9
	ip -n sw link set leg0 up
done
expect_whole_soon

say "a device is made again"
for i in {1..5}; do
	nap 1.5
	ip -n n1 link delete eth7
	nap 1
	ip -n n1 link add eth7 type veth peer name far7 netns sw
	ip -n sw link set far7 up
done
expect_whole_soon
# A link that is set down is a change of what is ours; nothing else was.
expect_equal "fights" "$(grep drift_fight "$LOG_DIR/netconf.log" | grep -v 'op="set eth0 up"')" ""
