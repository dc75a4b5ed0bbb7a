#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What netconf does on the kernel that runs, with links that any kernel has. bench/netconf.sh starts it:
# links.sh ROUNDS SIZE..., with WORK, a folder on a disk, and QUICK; the samples are in $LOG_DIR.
. "$(dirname "$0")/world.sh"

net_world_enter "$@"
SHAPE=links NETWORKD_S=90
sizes "$@"
outages "$1"
