#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# by hand: eight minutes of a processor and more, by --accel own-time
# The nemesis with delay and loss, for which this kernel has netem: one round, and no more faults than an
# emulated processor comes to an end with. How slow it is the nemesis measures, and its judge knows.
set -euo pipefail
exec "$(dirname "$0")/../nemesis/run" --seed "${SEED:-8}" --faults "${FAULTS:-12}" --netem
