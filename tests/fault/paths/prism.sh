# SPDX-License-Identifier: Apache-2.0
# prism stands before an API server and relays a request. Where it says that an upstream is ready, requests
# are answered; where it says that it listens, it does.
PROGRAM=prism
use prism

path_begin() {
	PRISM_UPSTREAMS=10.86.0.11:6443
	PRISM_LISTEN=127.0.0.1:7445
	lan_with_servers
	api_up
}

prism_with() { # PROGRAM
	prism_configure
	spawn prism cl env "${FAULT[@]}" "$1" --config "$T/prism-cl.yaml" --runtime-dir "$T/run-cl"
}

prism_says() { # FILTER VALUE
	[[ $(prism_all cl "$1" 2>/dev/null) == "$2" ]]
}

# One request may be shed; the next is not.
is_answered() {
	inside cl curl -sf --max-time 3 --cacert "$PKI/cluster-ca.crt" \
		--resolve "$CLIENT_NAME:7445:127.0.0.1" "https://$CLIENT_NAME:7445/version"
}

ready_or_gone() {
	gone prism || prism_says '.[] | select(.upstream) | .state' ready
}

answered_or_gone() {
	gone prism || is_answered
}

# It may have died as soon as it had said so.
listens_or_gone() {
	gone prism || [[ -n $(inside cl ss -Hltn 'sport = :7445') ]]
}

says_what_listens() {
	local open i
	open=$(prism_all cl '[.[0].listeners[] | select(.open)] | length' 2>/dev/null) || return 0
	[[ $open -gt 0 ]] || return 0
	for ((i = 0; i < 10; i++)); do
		! listens_or_gone || return 0
		nap 0.05
	done
	lie "prism said that it listens, and does not"
}

path_walk() {
	rm -rf "$T/state-cl" "$T/run-cl"
	prism_with "$PROGRAMS/prism"
	wait_until 60 ready_or_gone
	wait_until 60 answered_or_gone
	wait_until 60 answered_or_gone
	says_what_listens
	end prism
}

path_again() {
	prism_with "$BUILD/bin/prism"
	wait_until 60 prism_says '.[] | select(.upstream) | .state' ready
	wait_until 60 is_answered
	end_well prism
}
