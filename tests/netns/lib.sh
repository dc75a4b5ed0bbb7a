# SPDX-License-Identifier: Apache-2.0
# Sourced by every story. Enters a world of its own (lib/world.sh) and brings the words that stories
# are told in. What a story may set before it sources this:
#   VIP       the address that is fought over (default 10.86.0.100)
#   POLICY    lines of the VIPPolicyConfig of every node
#   OVERLAP_MS  how long two may claim the address in the whole story (default 0: never); checked at
#             the end of each story, whatever else it checks
# From the environment:
#   FAIRLEAD_ETCD  3.4, 3.5, ...: the etcd to run (tests/netns/etcd-get); default the system's own
#   BUILD, VIPD    the build folder, the vipd to test
#   LOG_DIR        where the logs of the story are kept (default $BUILD/tests/netns/STORY)

set -eEuo pipefail

NETNS_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$NETNS_DIR/../.." && pwd)
STORY=$(basename "$0" .sh)
BUILD=${BUILD:-$ROOT/build}
[[ $BUILD == /* ]] || BUILD=$ROOT/$BUILD
TOOLS=$BUILD/tests/tools
VIPD=${VIPD:-$BUILD/bin/vipd}
FAIRLEAD=${FAIRLEAD:-$BUILD/bin/fairlead}
LOG_DIR=${LOG_DIR:-$BUILD/tests/netns/$STORY}
VIP=${VIP:-10.86.0.100}
POLICY=${POLICY:-}
OVERLAP_MS=${OVERLAP_MS:-0}
NODES=(n1 n2 n3)

for part in world topology pki etcd api wire vipd; do
	# shellcheck source=/dev/null
	. "$NETNS_DIR/lib/$part.sh"
done

world_enter "$@"
