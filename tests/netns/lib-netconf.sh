# SPDX-License-Identifier: Apache-2.0
# Sourced by every story of netconf: a world of its own (lib/world.sh), with one node `n1` that has
# eth0 (the way to the operator) and eth1, each with its other end in `sw`. What comes of it is in
# lib/netconf.sh.
# From the environment, besides what lib/begin.sh takes:
#   NETCONF        the netconf to test

# shellcheck source=tests/netns/lib/begin.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/begin.sh"
T=/run/story

use world netconf

world_enter "$@"
