# SPDX-License-Identifier: Apache-2.0
# Sourced by what measures netconf, on this machine (links.sh) and on a kernel that has bonds and VLANs
# (bonds.sh): a world of its own, as the stories have. Samples are gathered in $LOG_DIR/samples.

set -eEuo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
STORY=bench/netconf
BUILD=${BUILD:-$ROOT/build}
FAIRLEAD=$BUILD/bin/fairlead
T=/run/story

for part in "$ROOT"/tests/netns/lib/{world,netconf}.sh "$ROOT/tests/vm/bonds.sh" \
	"$ROOT"/bench/netconf/{shapes,sizes,outages}.sh; do
	# shellcheck source=/dev/null
	. "$part"
done

# networkd must believe that there is no udev.
net_world_enter() {
	world_enter "$@"
	mount -t sysfs -o ro sysfs /sys
	# What else runs on the machine is to disturb little.
	renice -n "${NICE:--15}" $$ >"$T/out"
}
