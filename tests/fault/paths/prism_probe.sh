# SPDX-License-Identifier: Apache-2.0
# The same, and what fails is in the process that probes.
. "$FAULT_DIR/paths/prism.sh"
PROGRAM=prism-probe
