# SPDX-License-Identifier: Apache-2.0
# Sourced first by each lib*.sh: where everything is, and how parts of lib/ are taken in. From the
# environment:
#   BUILD          the build folder
#   FAIRLEAD       the CLI to test
#   MEMCHECK       yes: daemons, their children and the CLI run under valgrind(1) (lib/sanitizers.sh)
#   WRAP           words before each daemon's own, and the CLI's
#   LOG_DIR        where the logs of the story are kept (default $BUILD/tests/netns/STORY)

set -eEuo pipefail

NETNS_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
ROOT=$(cd "$NETNS_DIR/../.." && pwd)
STORY=$(basename "$0" .sh)
BUILD=${BUILD:-$ROOT/build}
[[ $BUILD == /* ]] || BUILD=$ROOT/$BUILD
TOOLS=$BUILD/tests/tools
FAIRLEAD=${FAIRLEAD:-$BUILD/bin/fairlead}
LOG_DIR=${LOG_DIR:-$BUILD/tests/netns/$STORY}
WRAP=${WRAP:-}

use() { # PART...: what a story needs of lib/; with declare -g in these, as this is a function
	local part
	for part in "$@"; do
		# shellcheck source=/dev/null
		. "$NETNS_DIR/lib/$part.sh"
	done
}
