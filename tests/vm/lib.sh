# SPDX-License-Identifier: Apache-2.0
# Sourced by every story: a world of its own, as the stories of tests/netns have (tests/netns/lib), and
# the words for bonds (bonds.sh). What is read from the environment is said there.

set -eEuo pipefail

VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
NETNS_DIR=$VM_DIR/../netns
ROOT=$(cd "$VM_DIR/../.." && pwd)
STORY=$(basename "$0" .sh)
BUILD=${BUILD:-$ROOT/build}
[[ $BUILD == /* ]] || BUILD=$ROOT/$BUILD
FAIRLEAD=${FAIRLEAD:-$BUILD/bin/fairlead}
LOG_DIR=${LOG_DIR:-$BUILD/tests/vm/$STORY}
T=/run/story

for part in "$NETNS_DIR"/lib/{world,netconf}.sh "$VM_DIR/bonds.sh"; do
	# shellcheck source=/dev/null
	. "$part"
done

world_enter "$@"
