#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# VIPs of Hetzner Cloud, two alias IPs of a private network and a floating IP, against a stand-in for
# its API. Whoever owns one has it assigned; setting one alias IP loses no other; alias IPs of others stay where they are; the API's refusals,
# errors and silence are told in the status and outlived, and cost no ownership; and a request of a lost
# owner that comes to pass late is undone.
# waits: for the owner to look again
VIPS='10.86.0.100 10.86.0.101 203.0.113.7'
. "$(dirname "$0")/lib.sh"

SECOND=10.86.0.101
FLOATING=203.0.113.7
CLOUD=10.87.0.1 # sw, on mgmt

vip_document() { # NODE VIP
	cat <<-YAML
		apiVersion: v1alpha1
		kind: HCloudVIPConfig
		name: $2
		link: eth0
		apiTokenFile: $T/token
		endpoint: https://$CLOUD:8443/v1
		caFile: $PKI/cluster-ca.crt
		metadata: http://$CLOUD:8080/metadata/${NUMBER[$1]}/instance-id
	YAML
}

token() { # TEXT: what the nodes use
	install -m 600 -o nobody /dev/null "$T/token.new"
	echo "$1" >"$T/token.new"
	mv "$T/token.new" "$T/token"
}

# Server 99 is none of ours, and has had the alias IP until now. Ids of the nodes are their numbers.
cloud_up() {
	local node servers='[]'
	for node in "${NODES[@]}"; do
		servers=$(jq -c --argjson id "${NUMBER[$node]}" '. + [{id: $id, private_net: [
			{network: 2, ip: "10.9.0.1", alias_ips: ["10.9.0.\($id)"]},
			{network: 3, ip: "10.86.0.\($id)", alias_ips: ["10.86.0.1\($id)"]}]}]' <<<"$servers")
	done
	jq '{token: "secret-4711", page: 2, networks: [{id: 2, ip_range: "10.9.0.0/16"}, {id: 3, ip_range: "10.86.0.0/16"}],
		floating_ips: [{id: 5, ip: "203.0.113.5", server: 99}, {id: 6, ip: "2001:db8::/64", server: null},
			{id: 7, ip: "203.0.113.7", server: null}],
		servers: (. + [{id: 99, private_net: [
			{network: 3, ip: "10.86.0.99", alias_ips: ["10.86.0.55", "10.86.0.100", "10.86.0.56"]}]}])}' \
		<<<"$servers" >"$T/cloud.json"
	pki_issue cloud cluster-ca cloud "IP:$CLOUD"
	spawn cloud sw "$ROOT/tests/tools/hcloud-api" --state "$T/cloud.json" --cert "$PKI/cloud.crt" \
		--key "$PKI/cloud.key" --api "$CLOUD:8443" --metadata "$CLOUD:8080"
	wait_until 10 log_says cloud '^ready'
}

cloud_change() { # FILTER
	jq "$1" "$T/cloud.json" >"$T/cloud.json.mine"
	mv "$T/cloud.json.mine" "$T/cloud.json"
}

alias_of() { # NODE: it has the VIP and its own, and nobody else lost or won anything
	local is wanted
	is=$(jq -c '[.servers[] | {key: "\(.id)", value: (.private_net | map({key: "\(.network)", value:
		(.alias_ips - ["'"$SECOND"'"] | sort)}) | from_entries)}] | from_entries' "$T/cloud.json")
	wanted=$(jq -nc --arg owner "${NUMBER[$1]}" '[("11", "12", "13") | {key: ., value: {"2": ["10.9.0.\(.)"],
		"3": (["10.86.0.1\(.)"] + if . == $owner then ["10.86.0.100"] else [] end | sort)}}] +
		[{key: "99", value: {"3": ["10.86.0.55", "10.86.0.56"]}}] | from_entries')
	[[ $is == "$wanted" ]]
}

second_settled_on() { # NODE
	second_settled && [[ $(ip_holder "$SECOND") == "$1" ]]
}

second_settled() {
	local now
	now=$(ip_holder "$SECOND")
	[[ -n $now && $now != *$'\n'* && $(jq -c --arg ip "$SECOND" '[.servers[] | select(any(.private_net[];
		.alias_ips | index($ip))) | .id]' "$T/cloud.json") == "[${NUMBER[$now]}]" ]] && cloud_is "$SECOND" "$now" assigned
}

floating_of() { # NODE
	[[ $(jq -c '[.floating_ips[].server]' "$T/cloud.json") == "[99,null,${NUMBER[$1]}]" ]]
}

floating_owner() {
	ip_holder "$FLOATING"
}

ip_holder() { # ADDRESS
	local node
	for node in "${NODES[@]}"; do
		[[ -z $(ip -n "$node" -oneline address show to "$1" 2>/dev/null) ]] || echo "$node"
	done
}

cloud_is() { # VIP NODE STATE
	[[ $(fairlead "$2" -o json vip status "$1" | jq -r .cloud) == "$3" ]]
}

warns() { # VIP NODE PATTERN
	fairlead "$2" -o json vip status "$1" | jq -r '.warnings[]' | has_line -E -- "$3"
}

floating_settled() {
	local now
	now=$(floating_owner)
	[[ -n $now && $now != *$'\n'* ]] && floating_of "$now" && cloud_is "$FLOATING" "$now" assigned
}

floating_owned_by_other_than() { # NODE
	local now
	now=$(floating_owner)
	[[ -n $now && $now != *$'\n'* && $now != "$1" ]]
}

cluster_up
say "the API of the cloud"
cloud_up
token secret-4711
observe
vipd_start "${NODES[@]}"
wait_until 15 settled
OWNER=$(holders)
wait_until 15 alias_of "$OWNER"
wait_until 10 cloud_is "$VIP" "$OWNER" assigned
wait_until 15 floating_settled
wait_until 30 second_settled
expect_equal "who is not the owner" "$(fairlead "$(node_other_than "$OWNER")" -o json vip status "$VIP" | jq -r .cloud)" idle

say "both alias IPs are moved to one node at once, and from there to another"
for OWNER in $(node_other_than "$OWNER") "$OWNER"; do
	for address in "$VIP" "$SECOND"; do
		former=$(ip_holder "$address")
		[[ $former == "$OWNER" ]] || fairlead "$former" vip move "$address" to "$OWNER"
	done
	wait_until 30 settled_on "$OWNER"
	wait_until 30 alias_of "$OWNER"
	wait_until 30 second_settled_on "$OWNER"
done

say "two are moved, while the API errs, is silent, and refuses"
former=$OWNER floating=$(floating_owner)
to=$(node_other_than "$floating")
cloud_change '.trouble = [{path: "POST .*alias", status: 500}, {path: "POST .*alias", fail: "locked"},
	{path: "GET .*floating.* '"$(mgmt_ip "$to")"'$", hang: 30}, {path: "POST .*assign", status: 429,
	code: "rate_limit_exceeded", retry_after: 1}]'
fairlead "$former" vip move "$VIP"
fairlead "$floating" vip move "$FLOATING" to "$to"
wait_until 3 settled_on_other_than "$former"
OWNER=$(holders)
wait_until 15 alias_of "$OWNER"
wait_until 20 log_says "vipd-$to" 'hcloud_failed vip=203.* reason="cannot [a-z ]* IPs?: (timeout|unreached)'
wait_until 20 log_says "vipd-$to" 'hcloud_failed vip=203.* 429, rate_limit_exceeded'
wait_until 20 floating_settled
expect "silence and errors moved nothing" settled_on "$OWNER"
expect "an error is told" log_says "vipd-$OWNER" 'hcloud_failed .*status 500, service_error'
expect "and that of an action" log_says "vipd-$OWNER" 'hcloud_failed .*the action failed: locked'

say "the token is another one"
cloud_change '.token = "secret-4712"'
former=$OWNER
fairlead "$former" vip move "$VIP"
wait_until 3 settled_on_other_than "$former"
OWNER=$(holders)
wait_until 10 warns "$VIP" "$OWNER" '401, unauthorized .*is the token right'
expect "failed" cloud_is "$VIP" "$OWNER" failed
chmod 644 "$T/token"
wait_until 10 warns "$VIP" "$OWNER" 'is open to others \(mode 0644\)'
token secret-4712
wait_until 15 alias_of "$OWNER"
wait_until 10 cloud_is "$VIP" "$OWNER" assigned
wait_until 30 floating_settled

say "the owner of the floating IP dies, and its last request comes to pass later"
cloud_change '.trouble = [{path: "POST .*assign", late: "'"$T/go"'"}]'
former=$(floating_owner)
floating=$(node_other_than "$former")
fairlead "$former" vip move "$FLOATING" to "$floating"
wait_until 10 log_says cloud '^late'
kill_hard "vipd-$floating"
wait_until 10 floating_owned_by_other_than "$floating"
now=$(floating_owner)
wait_until 10 floating_settled
touch "$T/go"
wait_until 5 log_says cloud "^done .*:${NUMBER[$floating]}} well"
wait_until 60 log_says "vipd-$now" 'hcloud_taken_back vip=203'
expect "it is back" floating_of "$now"

wait_until 30 second_settled
expect "the token is in no log" test -z "$(grep -l 'secret-471' "$LOG_DIR"/vipd-*.log)"
