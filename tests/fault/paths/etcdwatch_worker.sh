# SPDX-License-Identifier: Apache-2.0
# The same, and what fails is in its worker.
. "$FAULT_DIR/paths/etcdwatch.sh"
PROGRAM=etcdwatch-worker
