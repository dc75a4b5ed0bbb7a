# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/vm/run: the virtual machine. It is a child of this shell, and dies with it.

MACHINE=   # QEMU's process id
BOOTED_IN= # how long it took, and by what
TO_RUN=()  # names
NOT_EMULATED=(test_nftgate)

# Nothing here needs safety from what it runs, and under emulation each of these costs seconds. Grace
# periods are waited for whenever a namespace or a link goes.
KERNEL_WORDS='console=ttyS0 quiet panic=-1 mitigations=off nokaslr lsm= audit=0 nowatchdog tsc=reliable
no_timer_check cryptomgr.notests rcupdate.rcu_expedited=1 8250.nr_uarts=2 bonding.max_bonds=0
dummy.numdummies=0 ifb.numifbs=0'

# What it does once it is up.
command_write() { # kvm|tcg
	local name names=()
	for name in "${TO_RUN[@]}"; do
		if [[ $1 == tcg && " ${NOT_EMULATED[*]} " == *" $name "* ]]; then
			echo "--    $name is about milliseconds, which emulation does not keep: left out"
		else
			names+=("$name")
		fi
	done
	cat >"$RESULTS/command" <<-COMMAND
		cd '$ROOT'
		export BUILD='$BUILD' VERBOSE='${VERBOSE:-}' TALLY='$RESULTS/tally'
		exec tests/vm/inside --jobs 2 ${names[*]}
	COMMAND
}

machine_start() { # KERNEL-FOLDER kvm|tcg
	local folder=$1 words cpu=host processors=2
	# Emulated, a second processor makes both slower than half of one.
	[[ $2 == kvm ]] || cpu=max processors=1
	words="${KERNEL_WORDS//$'\n'/ } vm.results=$RESULTS vm.modules=$(echo "$folder"/lib/modules/*)"
	rm -f "$RESULTS"/{booted,code,kernel.log}
	command_write "$2"
	setpriv --pdeathsig KILL qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot \
		-m 1024 -smp "$processors" -accel "$2" -cpu "$cpu" \
		-kernel "$folder/vmlinux" -initrd "$folder/initrd" -append "$words" \
		-serial file:"$RESULTS/kernel.log" -chardev stdio,id=out,signal=off -serial chardev:out \
		-fsdev local,id=root,path=/,security_model=none,readonly=on,multidevs=remap \
		-device virtio-9p-pci,fsdev=root,mount_tag=root \
		-fsdev local,id=results,path="$RESULTS",security_model=none \
		-device virtio-9p-pci,fsdev=results,mount_tag=results \
		</dev/null 2>"$RESULTS/qemu.log" &
	MACHINE=$!
}

machine_runs() {
	[[ -n $MACHINE ]] && kill -0 "$MACHINE" 2>/dev/null
}

# Waits for FILE, which the machine makes; 1: not in time, or the machine ended.
machine_await() { # FILE SECONDS
	local end=$((SECONDS + $2))
	until [[ -e $1 ]]; do
		machine_runs && [[ $SECONDS -lt $end ]] || return 1
		sleep 0.1 &
		wait $!
	done
}

# It has its last words to say.
machine_await_end() {
	local end=$((SECONDS + 10))
	while machine_runs && [[ $SECONDS -lt $end ]]; do
		sleep 0.1
	done
}

machine_end() {
	machine_runs || return 0
	kill -TERM "$MACHINE"
	for ((i = 0; i < 20; i++)); do
		machine_runs || break
		sleep 0.1
	done
	kill -KILL "$MACHINE" 2>/dev/null
	wait "$MACHINE" 2>/dev/null
	MACHINE=
}

# KVM may be there and hang, where a virtual machine is inside of another. What was found holds until
# the next boot of this machine.
kvm_hangs() {
	[[ ! -w /dev/kvm || $(cat "$BUILD/vm/kvm-hangs" 2>/dev/null) == "$(</proc/sys/kernel/random/boot_id)" ]]
}

# Booted by what works, or by what was asked for; 1: not at all.
machine_boot() { # KERNEL-FOLDER kvm|tcg|''
	local began=$SECONDS
	if [[ $2 == kvm || -z $2 ]] && ! kvm_hangs; then
		machine_start "$1" kvm
		if machine_await "$RESULTS/booted" "$KVM_BOOT_LIMIT"; then
			BOOTED_IN="$((SECONDS - began)) s, by KVM"
			return
		fi
		machine_end
		echo "--    KVM does not boot in $KVM_BOOT_LIMIT s"
		cat /proc/sys/kernel/random/boot_id >"$BUILD/vm/kvm-hangs"
	fi
	[[ $2 != kvm ]] || return 1
	began=$SECONDS
	machine_start "$1" tcg
	machine_await "$RESULTS/booted" "$LIMIT" || return 1
	BOOTED_IN="$((SECONDS - began)) s, by emulation"
}

machine_evidence() {
	echo "FAIL  the virtual machine $1"
	tail -n 20 "$RESULTS/qemu.log" "$RESULTS/kernel.log"
	echo "0 1" >"$RESULTS/tally"
	echo '0 passed, 1 failed'
}

run_in_machine() { # KERNEL kvm|tcg|'' NAME...
	local folder
	folder=$("$DIR/kernel-get" ${1:+"$1"}) || return
	TO_RUN=("${@:3}")
	if ! machine_boot "$folder" "$2"; then
		machine_evidence 'did not boot'
		return 1
	fi
	echo "--    kernel $(basename "$(echo "$folder"/lib/modules/*)") booted in $BOOTED_IN"
	machine_await "$RESULTS/code" $((LIMIT - SECONDS))
	if [[ -e $RESULTS/code ]]; then
		machine_await_end
		return "$(<"$RESULTS/code")"
	fi
	if machine_runs; then
		machine_end
		machine_evidence "did not end within $LIMIT s"
	else
		machine_evidence died
	fi
	return 1
}
