# SPDX-License-Identifier: Apache-2.0
# Sourced by every story of netconf: a world of its own (lib/world.sh), with one node `n1` that has
# eth0 (the way to the operator) and eth1, each with its other end in `sw`. What comes of it is in
# lib/netconf.sh. From the environment:
#   BUILD, NETCONF  the build folder, the netconf to test
#   LOG_DIR         where the logs of the story are kept (default $BUILD/tests/netns/STORY)

set -eEuo pipefail

NETNS_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$NETNS_DIR/../.." && pwd)
STORY=$(basename "$0" .sh)
BUILD=${BUILD:-$ROOT/build}
[[ $BUILD == /* ]] || BUILD=$ROOT/$BUILD
FAIRLEAD=${FAIRLEAD:-$BUILD/bin/fairlead}
LOG_DIR=${LOG_DIR:-$BUILD/tests/netns/$STORY}
T=/run/story

for part in world netconf; do
	# shellcheck source=/dev/null
	. "$NETNS_DIR/lib/$part.sh"
done

world_enter "$@"
