# SPDX-License-Identifier: Apache-2.0
# installs: package
# needs: machine
# Installed from the package, in a machine whose systemd has all of cgroup v2: the limits of the units are in
# force and far away; a process that goes beyond one is ended or not begun, and the daemon goes on with all
# connections. A purge ends all of it.

UNIT='fairlead-*'

group_of() { # DAEMON
	echo "/sys/fs/cgroup$(systemctl show -p ControlGroup --value "fairlead-$1")"
}

# What the unit says the kernel has, and most of it is left.
limits_are_far() {
	local daemon group memory tasks
	for daemon in $DAEMONS; do
		group=$(group_of "$daemon")
		memory=$(<"$group/memory.max")
		tasks=$(<"$group/pids.max")
		echo "$daemon: at most $(($(<"$group/memory.peak") >> 10)) KiB of $memory bytes, $(<"$group/pids.current") of $tasks tasks"
		[[ $memory == "$(systemctl show -p MemoryMax --value "fairlead-$daemon")" ]]
		[[ $tasks == "$(systemctl show -p TasksMax --value "fairlead-$daemon")" ]]
		[[ $(($(<"$group/memory.peak") * 2)) -lt $memory ]]
		[[ $(($(<"$group/pids.current") * 2)) -lt $tasks ]]
	done
}

# As a process of that daemon.
run_in() { # DAEMON COMMAND...
	(
		echo "$BASHPID" >"$(group_of "$1")/cgroup.procs"
		exec "${@:2}"
	)
}

was_told() { # DAEMON
	journalctl -o cat -u "fairlead-$1" | grep 'killed by the OOM killer'
}

memory_ends() { # DAEMON
	local pid
	pid=$(main_pid "$1")
	systemctl set-property --runtime "fairlead-$1" MemoryMax=64M
	refute run_in "$1" tail /dev/zero
	grep '^oom_kill 1$' "$(group_of "$1")/memory.events"
	# systemd hears of it, and may do something about it.
	wait_until 30 was_told "$1"
	systemctl revert "fairlead-$1"
	[[ $(main_pid "$1") == "$pid" ]]
	all_run "$1"
}

# 2: no more could be begun.
processes_end() { # DAEMON
	local code=0
	run_in "$1" perl -e 'for (1 .. 200) {
			my $pid = fork;
			if (!defined $pid) { kill KILL => @pids; exit 2 }
			if (!$pid) { sleep 600; exit }
			push @pids, $pid;
		}
		kill KILL => @pids' || code=$?
	[[ $code -eq 2 ]]
	all_run "$1"
}

rm -f /usr/sbin/policy-rc.d
dpkg -i /fairlead.deb
node_make
systemctl enable -q fairlead.target
systemctl start network-online.target fairlead.target
wait_until 60 is_owner
wait_until 60 has_snapshot
all_run $DAEMONS
limits_are_far

connections_open
connections_are_there
processes_end vipd
# Those with children, which may be what takes too much.
for daemon in prism netconf; do
	memory_ends "$daemon"
done
connections_are_there
vip_was_kept

dpkg -P fairlead
refute has_vip
for daemon in $DAEMONS; do
	refute pgrep -x "$daemon"
done
