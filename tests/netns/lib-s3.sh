# SPDX-License-Identifier: Apache-2.0
# Sourced by every story about S3: a world of its own (lib/world.sh), a real S3-compatible server, and
# etcdwatch-worker. What a story may set is in lib/s3.sh. From the environment:
#   BUILD, WORKER  the build folder, the etcdwatch-worker to test
#   LOG_DIR        where the logs of the story are kept (default $BUILD/tests/netns/STORY)

set -eEuo pipefail

NETNS_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$NETNS_DIR/../.." && pwd)
STORY=$(basename "$0" .sh)
BUILD=${BUILD:-$ROOT/build}
[[ $BUILD == /* ]] || BUILD=$ROOT/$BUILD
TOOLS=$BUILD/tests/tools
WORKER=${WORKER:-$BUILD/bin/etcdwatch-worker}
LOG_DIR=${LOG_DIR:-$BUILD/tests/netns/$STORY}
T=/run/story

for part in world pki s3; do
	# shellcheck source=/dev/null
	. "$NETNS_DIR/lib/$part.sh"
done

world_enter "$@"
