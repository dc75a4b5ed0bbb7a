# SPDX-License-Identifier: Apache-2.0
# Stories of programs that look after themselves: BUILD=build/asan or build/tsan (`make asan tsan`, each
# with test-tools), or under valgrind(1) by MEMCHECK=yes. What is found goes to files, whoever finds it
# and wherever its stderr goes: daemons, workers, probes, guards, the CLI, and the tools of the tests. At
# the end of such a story the daemons are told to stop, so that what they have not freed is found too, and
# one word of any of them fails it. Such programs are slower: what is waited for may take longer, and what
# they cannot be held to at all a story says by not_judged().

# Run by ours, and not ours.
MEMCHECK_SKIPS='*/etcd,*/etcdctl,*/bash,*/sh,*/env,*/zstd,*/age,*/dhcpcd,*/ip'

# What this build says of itself.
sanitizers_are_on() {
	[[ -n ${MEMCHECK:-} ]] || grep -sqE '__(asan|tsan)_init' "$BUILD/bin/vipd"
}

# A promise that this story cannot hold such programs to. Whoever runs stories counts it (tests/netns/run).
not_judged() { # WHAT WHY
	echo "NOT JUDGED: $1: $2" >&"$OUT_FD"
}

# Once there is a world. Everybody's user may write there. Nothing is left out: gRPC and libev are not built
# for ThreadSanitizer, and what they do themselves is not looked at.
sanitizers_begin() {
	local found=$T/sanitizers
	sanitizers_are_on || return 0
	mkdir -m 1777 "$found"
	# The runtime may come behind a library that is preloaded (libfaketime).
	export ASAN_OPTIONS=verify_asan_link_order=0:quarantine_size_mb=32:exitcode=99:log_path=$found/address:${ASAN_OPTIONS:-}
	export UBSAN_OPTIONS=print_stacktrace=1:exitcode=99:log_path=$found/undefined
	export LSAN_OPTIONS=report_objects=1
	export TSAN_OPTIONS=ignore_noninstrumented_modules=1:second_deadlock_stack=1:log_path=$found/thread:${TSAN_OPTIONS:-}
	PATIENCE_S=180
	FAIRLEAD_TIMEOUT=$((${FAIRLEAD_TIMEOUT:-15} * 8))
	[[ -n ${MEMCHECK:-} ]] || return 0
	WRAP="valgrind --quiet --trace-children=yes --trace-children-skip=$MEMCHECK_SKIPS --leak-check=full
		--show-leak-kinds=definite --errors-for-leak-kinds=definite --log-file=$found/memory.%p"
}

# Where a story has stopped one, it goes on first.
sanitizers_end_daemons() {
	local name pids=() pid end
	for name in "${!PID[@]}"; do
		case $name in
		vipd-* | prism-* | etcdwatch-* | netconf | netconf-*) pids+=("${PID[$name]}") ;;
		esac
	done
	# Those that a page has started (lib/docs.sh).
	for name in "$T"/disk-*/fairlead-*.pid; do
		[[ ! -e $name ]] || pids+=("$(<"$name")")
	done
	for pid in "${pids[@]}"; do
		kill -CONT "$pid" 2>/dev/null
		kill -TERM "$pid" 2>/dev/null || continue
	done
	end=$(($(now_cs) + 6000))
	for pid in "${pids[@]}"; do
		while kill -0 "$pid" 2>/dev/null && [[ $(now_cs) -lt $end ]]; do nap 0.05; done
	done
}

# 1: one of them has said something, which is shown.
sanitizers_are_silent() {
	local said bad=0
	sanitizers_are_on || return 0
	sanitizers_end_daemons
	for said in "$T"/sanitizers/*; do
		# What valgrind says of itself stands between other signs.
		case ${said##*/} in memory.*) grep -q '^==' "$said" || continue ;; esac
		[[ -s $said ]] || continue
		cp "$said" "$LOG_DIR/"
		echo "FAILED: a sanitizer: ${said##*/}"
		head -n 60 "$said"
		bad=1
	done
	return "$bad"
}
