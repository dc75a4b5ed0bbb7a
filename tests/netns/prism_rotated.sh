#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The cluster's authority is replaced, and the client certificate with which prism asks for /readyz: at
# no time is a server thought untrusted whose certificate is right, and no request fails.
. "$(dirname "$0")/lib-prism.sh"

PRISM_HEALTH="interval: 1s
suspectInterval: 200ms
clientCertFile: $PKI/prism.crt
clientKeyFile: $PKI/prism.key"
API_MORE="ssl_verify_client optional_no_ca;
	if (\$ssl_client_s_dn = '') { return 401; }"

asked_by() { # SUBJECT: every server was asked by it of late
	local node
	for node in "${NODES[@]}"; do
		tail -n 20 "$T/api-$node/access.log" | has_line "/readyz CN=$1\$" || return 1
	done
}

# Clients have none; they are not to be turned away for it.
ASK="--ca $PKI/trust.crt --name $CLIENT_NAME --path /version --status 401"

new_api_certificate() { # NODE
	pki_issue_api "$1" new-ca
	signal HUP "api-$1"
}

served_by() { # NODE AUTHORITY
	inside cl openssl s_client -connect "10.86.0.${NUMBER[$1]}:6443" </dev/null 2>/dev/null |
		openssl x509 -noout -issuer | has_line "CN = $2"
}

lan_with_servers
pki_authority client-ca
pki_authority new-ca
pki_issue prism client-ca first "DNS:prism"
cat "$PKI/cluster-ca.crt" "$PKI/new-ca.crt" >"$PKI/trust.crt"
api_up
prism_start
wait_until 5 all_ready
wait_until 3 asked_by first
client_start open open --rate 20 $ASK

say "another client certificate lies there"
pki_issue prism client-ca second "DNS:prism"
wait_until 15 asked_by second

say "the new authority is trusted as well, then the servers get new certificates"
cp "$PKI/trust.crt" "$PKI/cluster-ca.crt.new"
mv "$PKI/cluster-ca.crt.new" "$PKI/cluster-ca.crt"
for_seconds 3 all_ready
for node in "${NODES[@]}"; do
	new_api_certificate "$node"
	wait_until 5 served_by "$node" new-ca
done
for_seconds 3 all_ready

say "the old authority is gone"
cp "$PKI/new-ca.crt" "$PKI/cluster-ca.crt.new"
mv "$PKI/cluster-ca.crt.new" "$PKI/cluster-ca.crt"
for_seconds 3 all_ready
client_stop open
expect_all_well open 150 cut
expect_at_most "requests that were cut" "$(client_figure open .failures.cut)" 0
expect "nobody was distrusted" bash -c "! grep -q 'new=untrusted' '$LOG_DIR/prism-cl.log'"
