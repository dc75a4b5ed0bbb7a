#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The owner's vipd is stopped, and another program flushes nftables on its node: from kernel 6.9 on the gate
# stays, and the next owner is the only one that answers. So does it where vipd runs on.
. "$(dirname "$0")/lib.sh"

IFS=.- read -r major minor _ < <(uname -r)
if ((major * 100 + minor < 609)); then
	say "skipped: kernel $major.$minor has no tables that outlive a flush (docs/limits.md)"
	exit 0
fi

flush() { # NODE
	inside "$1" nft flush ruleset
}

gate_opens() { # NODE
	[[ $(inside "$1" nft list set inet fairlead-vip live4) == *"$VIP"* ]]
}

cluster_with_owner
former=$(holders)

say "nftables is flushed on the owner, $former: nothing is lost"
flush "$former"
gate_opens "$former" || fail "the gate is gone"
for_seconds 3 settled_on "$former"
grep -q event=gate_lost "$LOG_DIR/vipd-$former.log" && fail "the gate was lost"

say "the vipd of $former is stopped, and nftables is flushed there"
vipd_pause "$former"
flush "$former"
gate_opens "$former" || fail "the gate is gone"
wait_until 15 settled_on_other_than "$former"
vipd_resume "$former"
wait_until 10 settled
wire_check --max-overlap-ms 0
