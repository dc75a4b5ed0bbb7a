# SPDX-License-Identifier: Apache-2.0
# Sourced by every story. Enters a world of its own (lib/world.sh) and brings the words that stories
# are told in. What a story may set before it sources this:
#   VIP       the address that is fought over (default 10.86.0.100)
#   POLICY    lines of the VIPPolicyConfig of every node
#   OVERLAP_MS  how long two may claim the address in the whole story (default 0: never); checked at
#             the end of each story, whatever else it checks
#
# From the environment, besides what lib/begin.sh takes:
#   FAIRLEAD_ETCD  3.4, 3.5, ...: the etcd to run (tests/netns/etcd-get); default the system's own
#   VIPD           the vipd to test

# shellcheck source=tests/netns/lib/begin.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/begin.sh"
VIPD=${VIPD:-$BUILD/bin/vipd}
VIP=${VIP:-10.86.0.100}
POLICY=${POLICY:-}
OVERLAP_MS=${OVERLAP_MS:-0}
NODES=(n1 n2 n3)

use world lateness topology pki etcd api wire tcp vipd

world_enter "$@"
lateness_watch
