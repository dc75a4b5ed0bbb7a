# SPDX-License-Identifier: Apache-2.0
# Stories of daemons that look after themselves: BUILD=build/asan or build/tsan (`make asan tsan`, each
# with test-tools), or under valgrind(1) by WRAP="valgrind --quiet ...". At the end of such a story the
# daemons are told to stop, so that what they have not freed is found, and whatever was found fails it.

SANITIZERS_SAY='ERROR: (Address|Leak)Sanitizer|WARNING: ThreadSanitizer|runtime error:|^==[0-9]+== .*(Invalid (read|write|free)|uninitialised|definitely lost: [1-9])'

sanitizers_are_on() {
	[[ -n ${WRAP:-} ]] || grep -qE '__(asan|tsan)_init' "$BUILD/bin/vipd"
}

# Where a story has stopped one, it goes on first.
sanitizers_end_daemons() {
	local name end
	for name in "${!PID[@]}"; do
		case $name in
		vipd-* | prism-* | etcdwatch-* | netconf | netconf-*)
			kill -CONT "${PID[$name]}" 2>/dev/null
			kill -TERM "${PID[$name]}" 2>/dev/null || continue
			end=$(($(now_cs) + 6000))
			while alive "$name" && [[ $(now_cs) -lt $end ]]; do nap 0.05; done
			;;
		esac
	done
}

# 1: one of them has said something, which is shown.
sanitizers_are_silent() {
	local log bad=0
	sanitizers_are_on || return 0
	sanitizers_end_daemons
	for log in "$LOG_DIR"/*.log; do
		grep -Eq "$SANITIZERS_SAY" "$log" || continue
		echo "FAILED: a sanitizer in ${log##*/}"
		grep -E -A 25 "$SANITIZERS_SAY" "$log" | head -n 60
		bad=1
	done
	return "$bad"
}
