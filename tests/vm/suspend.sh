# SPDX-License-Identifier: Apache-2.0
# Sourced by stories that suspend the machine, this script and all else in it. QEMU's own sleep would need a
# firmware that wakes it; so the kernel goes as far as it goes by itself (pm_test "core": processes frozen, devices,
# timers and clocks stopped), waits there, and comes back. CLOCK_BOOTTIME goes on by the clock on the board;
# CLOCK_MONOTONIC has stood still, and with it the kernel's timers.

grep -qw vm.memory /proc/cmdline || fail "this suspends the machine, which must be the story's own (tests/vm/run)"

uptime_ms() {
	local now _
	read -r now _ </proc/uptime
	echo $((10#${now/./} * 10))
}

# For about so long, as the kernel waits by counting; at least for LEAST seconds. Back when it goes on.
machine_sleeps() { # SECONDS LEAST
	local before away
	echo core >/sys/power/pm_test
	echo "$1" >/sys/module/suspend/parameters/pm_test_delay
	before=$(uptime_ms)
	echo mem >/sys/power/state || fail "it cannot be suspended"
	away=$(($(uptime_ms) - before))
	[[ $away -gt $(($2 * 1000)) ]] || fail "it slept for $away ms, which should be more than $2 s"
}
