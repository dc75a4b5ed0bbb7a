# SPDX-License-Identifier: Apache-2.0
# Clients (tests/kubernetes/client) and what they saw. PLACES are where they ask:
#   worker   a worker's prism
#   faulted  the prism of the node that has the fault
#   vip      the VIP, from another host

PLACES=(worker faulted vip)
NOWHERE=power@faulted # faults that leave no client at a place
declare -gA PLACE_HOST=([worker]=wk [vip]=cl) # where there is none: VICTIM
declare -gA PLACE_URL=([worker]=$PRISM_URL [faulted]=$PRISM_URL [vip]=$VIP_URL)
WATCHES=${WATCHES:-10}
JOURNAL=$T/journal

# Updates an object all the time by servers that work, and notes who leads.
journal_start() {
	: >"$JOURNAL"
	spawn write-cl cl "$CLIENT" write --kubeconfig "$(kube_folder n1)/super-admin.conf" --journal "$JOURNAL" \
		--servers "$(for node in "${NODES[@]}"; do echo "https://$(address "$node"):6443"; done | paste -sd ,)"
	wait_until 30 test -s "$JOURNAL"
}

lease_holder() { # PROGRAM: its node
	awk -v name="$1" '$1 == "lease" && $2 == name { sub(/_.*/, "", $4); holder = $4 } END { print holder }' "$JOURNAL"
}

all_leases_held() {
	local program
	for program in "${PROGRAMS[@]}"; do
		[[ -n $(lease_holder "$program") ]] || return 1
	done
}

# How often a lease has changed hands since the journal had so many lines.
leases_lost() { # LINES
	tail -n "+$(($1 + 1))" "$JOURNAL" | grep -c '^lease ' || true
}

ask_start() { # PLACE
	rm -f "$LOG_DIR/ask-$1.log"
	spawn "ask-$1" "${PLACE_HOST[$1]:-$VICTIM}" "$CLIENT" ask --kubeconfig "$(kube_folder n1)/super-admin.conf" \
		--server "${PLACE_URL[$1]}" --journal "$JOURNAL" --watches "$WATCHES" --streams 3 --long 3s --kubectl "$K8S/kubectl"
}

ask_is_ready() { # PLACE
	log_says "ask-$1" '^ready$'
}

# Ends the client of a place; its figures are one line of JSON.
ask_stop() { # PLACE
	signal TERM "ask-$1"
	wait_exit 30 "ask-$1"
	expect_equal "exit code of the client at $1" "$EXIT_CODE" 0
	grep '^{' "$LOG_DIR/ask-$1.log" >"$T/figures-$1"
}

# $fault is when the fault had begun. What was under way then fails by every balancer of connections where the server
# is killed: calls that failed count from there, and before it they are "cut".
figure() { # PLACE FILTER
	jq -r --argjson fault "$FAULT_MS" "def failed: (. // []) | map(select(. >= \$fault)) | length;
		def cut: (. // []) | map(select(. < \$fault)) | length;
		$2" "$T/figures-$1"
}

now_ms() {
	echo $((${EPOCHREALTIME/./} / 1000))
}

# --- one fault -----------------------------------------------------------------------------------

# From a cluster that is well to one that is well again. Leaves figures, ASKED_AT, the places that have some, LEASES, how
# many were lost, and LATE_MS, how late the machine itself was at worst.
fault_passes() { # NAME SECONDS
	local name=$1 seconds=$2 place lines began
	say "$name: all well, everything on one node"
	if declare -F "prepare_$name" >/dev/null; then
		gather
		"prepare_$name"
		MOVED_CS=$(now_cs)
	fi
	gather
	! declare -F "aim_$name" >/dev/null || "aim_$name"
	asks_start "$name"
	lines=$(wc -l <"$JOURNAL")
	began=$(now_cs)
	say "$name: on $VICTIM"
	MOVED_CS=$(now_cs)
	FAULT_MS=$(now_ms)
	"fault_$name"
	# One that comes step by step counts from its first.
	[[ $(now_ms) -ge $((FAULT_MS + 500)) ]] || FAULT_MS=$(now_ms)
	for_seconds "$seconds" true
	say "$name: mended"
	[[ $seconds -gt 0 ]] || MOVED_CS=$(now_cs)
	"mend_$name"
	wait_until 90 all_apis_ready
	nap 3
	for place in "${ASKED_AT[@]}"; do
		ask_stop "$place"
		cp "$T/figures-$place" "$LOG_DIR/$name-$place.json"
	done
	LEASES=$(leases_lost "$lines")
	LATE_MS=$(lateness_since "$began")
	if declare -F "after_$name" >/dev/null; then
		"after_$name"
		MOVED_CS=$(now_cs)
	fi
}

asks_start() { # FAULT
	local place
	ASKED_AT=()
	for place in "${PLACES[@]}"; do
		[[ " $NOWHERE " == *" $1@$place "* ]] || ASKED_AT+=("$place")
	done
	for place in "${ASKED_AT[@]}"; do
		ask_start "$place"
	done
	for place in "${ASKED_AT[@]}"; do
		wait_until 60 ask_is_ready "$place"
	done
	nap 3
}
