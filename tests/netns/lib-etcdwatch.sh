# SPDX-License-Identifier: Apache-2.0
# Sourced by every story of etcdwatch: a world of its own (lib/world.sh) and three nodes with etcd, no
# VIP and no API servers. What a story may set is in lib/etcdwatch.sh. From the environment:
#   FAIRLEAD_ETCD  3.4, 3.5, ...: the etcd to run (tests/netns/etcd-get); default the system's own
#   BUILD, ETCDWATCH  the build folder, the etcdwatch to test (etcdwatch-worker is beside it)
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
FAIRLEAD_TIMEOUT=30 # a snapshot is taken meanwhile, or a store is asked

for part in world topology pki etcd etcdwatch stores drill; do
	# shellcheck source=/dev/null
	. "$NETNS_DIR/lib/$part.sh"
done

world_enter "$@"
