#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What netconf does with bonds and VLANs; tests/vm/run runs it, on this machine's kernel or, where that
# has none, in a virtual one, whose only writable folder is $LOG_DIR: there the samples are. How many
# rounds, and which sizes: netconf.rounds, which bench/netconf.sh wrote.
# limit: 3000
. "$(dirname "$0")/world.sh"

QUICK=
net_world_enter "$@"
SHAPE=bond WORK=$T NETWORKD_S=1800
read -ra wanted <"$BUILD/bench/netconf.rounds"
sizes "${wanted[@]}"
outages "${wanted[0]}"
