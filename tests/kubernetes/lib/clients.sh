# SPDX-License-Identifier: Apache-2.0
# Clients (tests/kubernetes/client) and what they saw. PLACES are where they ask:
#   worker   a worker's prism
#   faulted  the prism of the node that has the fault
#   vip      the VIP, from another host

PLACES=(worker faulted vip)
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

place_host() { # PLACE
	case $1 in
	worker) echo wk ;;
	faulted) echo "$VICTIM" ;;
	vip) echo cl ;;
	esac
}

place_url() { # PLACE
	[[ $1 == vip ]] && echo "$VIP_URL" || echo "$PRISM_URL"
}

ask_start() { # PLACE
	rm -f "$LOG_DIR/ask-$1.log"
	spawn "ask-$1" "$(place_host "$1")" "$CLIENT" ask --kubeconfig "$(kube_folder n1)/super-admin.conf" \
		--server "$(place_url "$1")" --journal "$JOURNAL" --watches "$WATCHES" --streams 3 --long 3s --kubectl "$K8S/kubectl"
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

figure() { # PLACE FILTER
	jq -r "$2" "$T/figures-$1"
}
