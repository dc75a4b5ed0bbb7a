# SPDX-License-Identifier: Apache-2.0
# The same where nobody has said that the address is given up: vipd waits until who may have it is silent.
. "$FAULT_DIR/paths/vipd.sh"

path_walk() {
	etcdctl del --prefix '' >/dev/null
	rm -rf "$T/run-n1"
	vipd_walk
}
