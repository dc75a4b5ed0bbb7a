# SPDX-License-Identifier: Apache-2.0
# Sourced by every story of prism: a world of its own (lib/world.sh), a LAN, API servers, no etcd and
# no VIP. What a story may set is in lib/prism.sh.
# From the environment, besides what lib/begin.sh takes:
#   PRISM          the prism to test (prism-probe is beside it)

# shellcheck source=tests/netns/lib/begin.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/begin.sh"
VIP=
NODES=(n1 n2 n3)
T=/run/story

use world lateness topology pki api prism

world_enter "$@"
lateness_watch $AHEAD
