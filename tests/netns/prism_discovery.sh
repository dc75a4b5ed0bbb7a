#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One address is written down; the others are found. By the EndpointSlices, asked for through prism
# itself: the list grows, names a stranger, shrinks, cannot be read, and prism starts while nobody can
# be asked. Then by etcd's members, from a file. Clients notice nothing of it.
. "$(dirname "$0")/lib-prism.sh"

SLICES=$T/www/apis/discovery.k8s.io/v1/namespaces/default/endpointslices
PRISM_UPSTREAMS="10.86.0.11:6443"
PRISM_SOURCES="endpointSlices:
  kubeconfig: $T/kubeconfig
  interval: 1s"
PRISM_HEALTH="interval: 1s
suspectInterval: 200ms"
PRISM_MORE="drain:
  idle: 300ms
  spread: 1s"
# Only who has the token may list, as with RBAC.
API_MORE="location /apis/ {
	if (\$http_authorization != 'Bearer s3cret') { return 403; }
}"

write_slices() { # ADDRESS...
	mkdir -p "$(dirname "$SLICES")"
	printf '%s\n' "$@" | jq -Rn '{kind: "EndpointSliceList", items: [{addressType: "IPv4",
		ports: [{name: "https", port: 6443, protocol: "TCP"}],
		endpoints: [inputs | {addresses: [.], conditions: {ready: true}}]}]}' >"$SLICES.new"
	mv "$SLICES.new" "$SLICES"
}

write_kubeconfig() { # TOKEN
	cat >"$T/kubeconfig.new" <<-YAML
		apiVersion: v1
		kind: Config
		current-context: prism
		contexts:
		- {name: prism, context: {cluster: here, user: prism}}
		clusters:
		- name: here
		  cluster:
		    server: https://elsewhere.invalid:6443
		    tls-server-name: $PROBE_NAME
		    certificate-authority-data: $(base64 -w0 "$PKI/cluster-ca.crt")
		users:
		- {name: prism, user: {token: $1}}
	YAML
	mv "$T/kubeconfig.new" "$T/kubeconfig"
}

upstreams_are() { # NAMES
	[[ $(prism_all cl '[.[1:][].upstream] | join(" ")') == "$1" ]]
}

error_of() { # SOURCE
	prism_all cl ".[0].sources[] | select(.source == \"$1\") | .error"
}

error_says() { # SOURCE WORDS
	[[ $(error_of "$1") == *"$2"* ]]
}

has_reloaded() { # STARTS: in all
	[[ $(grep -c event=starting "$LOG_DIR/prism-cl.log") -eq $1 ]]
}

N1=10.86.0.11:6443 N2=10.86.0.12:6443 N3=10.86.0.13:6443

lan_with_servers
pki_authority other-ca
write_kubeconfig s3cret
write_slices 10.86.0.11 10.86.0.12
api_start n1
api_start n2
prism_start
wait_until 10 states_are n1=ready n2=ready
client_start open open --rate 50 $ASK_VERSION
client_start kept kept --connections 10 --every 200 $ASK_VERSION

say "a third one is in the list, of another authority: found, and never used"
pki_issue_api n3 other-ca
odd_start n3
write_slices 10.86.0.11 10.86.0.12 10.86.0.13
wait_until 5 states_are n3=untrusted
for_seconds 1 states_are n1=ready n2=ready n3=untrusted
expect_equal "clients at n3" "$(odd_visitors n3 'tls|plain|quiet')" 0
kill_hard odd-n3
pki_issue_api n3 cluster-ca
api_start n3
wait_until 10 all_ready

say "the list is empty, is nonsense, may not be read: what was found stays"
write_slices
wait_until 10 error_says slices "no API server"
expect "all are there" upstreams_are "$N1 $N2 $N3"
echo '<html>' >"$SLICES"
wait_until 10 error_says slices "not JSON"
write_kubeconfig revoked
wait_until 10 error_says slices "HTTP 403"
expect "all are there" upstreams_are "$N1 $N2 $N3"
write_slices 10.86.0.11 10.86.0.12 10.86.0.13
write_kubeconfig s3cret
wait_until 10 error_says slices null

say "the one that is written down dies"
api_stop n1
wait_until 5 states_are n1=down
for_seconds 2 error_says slices null

client_stop open
client_stop kept
expect_all_well open 200 cut
expect_at_most "requests that were cut" "$(client_figure open .failures.cut)" 2
expect_all_well kept 100 cut

say "n2 leaves the list"
write_slices 10.86.0.13
wait_until 20 upstreams_are "$N1 $N3"

say "prism starts while nobody that it knows lives, then by etcd's members"
kill_hard prism-cl
rm -r "$T/state-cl"
printf '%s\n' 10.86.0.11 10.86.0.12 10.86.0.13 | jq -Rn '{header: {cluster_id: 17237436991929493444},
	members: [inputs | {ID: 1, clientURLs: ["https://127.0.0.1:2379"], peerURLs: ["https://\(.):2380"]}]}' \
	>"$T/members.json"
PRISM_SOURCES+="
members:
  file: $T/members.json"
prism_start
wait_until 10 states_are n2=ready n3=ready
client_run last open --rate 50 --seconds 1 $ASK_VERSION
expect_all_well last 45

say "nothing is kept on disk, and nobody can be asked any more: a reload forgets nothing"
kill_hard prism-cl
PRISM_STATE=
prism_start
wait_until 10 states_are n2=ready n3=ready
rm "$T/members.json"
write_kubeconfig revoked
for reloads in 1 2; do
	signal HUP prism-cl
	wait_until 10 has_reloaded $((reloads + 3))
	wait_until 10 error_says members members.json
	expect "all are there" upstreams_are "$N1 $N2 $N3"
done
client_run reloaded open --rate 50 --seconds 1 $ASK_VERSION
expect_all_well reloaded 45
