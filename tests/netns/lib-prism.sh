# SPDX-License-Identifier: Apache-2.0
# Sourced by every story of prism: a world of its own (lib/world.sh), a LAN, API servers, no etcd and
# no VIP. What a story may set is in lib/prism.sh. From the environment:
#   BUILD, PRISM   the build folder, the prism to test (prism-probe is beside it)
#   LOG_DIR        where the logs of the story are kept (default $BUILD/tests/netns/STORY)

set -eEuo pipefail

NETNS_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$NETNS_DIR/../.." && pwd)
STORY=$(basename "$0" .sh)
BUILD=${BUILD:-$ROOT/build}
[[ $BUILD == /* ]] || BUILD=$ROOT/$BUILD
TOOLS=$BUILD/tests/tools
FAIRLEAD=${FAIRLEAD:-$BUILD/bin/fairlead}
LOG_DIR=${LOG_DIR:-$BUILD/tests/netns/$STORY}
VIP=
NODES=(n1 n2 n3)
T=/run/story

for part in world topology pki api prism; do
	# shellcheck source=/dev/null
	. "$NETNS_DIR/lib/$part.sh"
done

world_enter "$@"
