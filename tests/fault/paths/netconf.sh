# SPDX-License-Identifier: Apache-2.0
# The daemon applies a change that is confirmed, and one that is rolled back. Who is told that it is
# confirmed has it, and who is told that it is undone has the network from before; where the daemon is
# gone in the middle, its guard or its next start undoes what nobody has confirmed.
PROGRAM=netconf
use netconf

path_begin() {
	node_new
	mkdir -p "$T/files"
	config_write good <<-'YAML'
		apiVersion: v1alpha1
		kind: LinkConfig
		name: eth0
		addresses:
		  - address: 10.1.0.1/24
	YAML
	sed 's|10.1.0.1/24|10.1.0.9/24|' "$T/good.yaml" | config_write other
}

netconf_with() { # PROGRAM
	mkdir -p "$T/run-n1"
	spawn netconf n1 env "${FAULT[@]}" "$1" --config "$T/files" --runtime-dir "$T/run-n1" --state-dir "$T/state"
}

# A daemon that is gone is started again by path_again alone, for which the operator would wait a minute. What
# it said before is still read.
tell_netconf() { # WORD...
	spawn operator n1 timeout 60 "$FAIRLEAD" --runtime-dir "$T/run-n1" net "$@"
	wait_until 90 told_or_gone
	gone operator || nap 1
	gone operator || kill -TERM "${PID[operator]}" 2>/dev/null || true
	wait_exit 60 operator
	[[ $EXIT_CODE -ne 124 ]] || gone netconf || fail "netconf did not answer: $*"
	return "$EXIT_CODE"
}

told_or_gone() {
	gone operator || gone netconf
}

addresses() {
	local words
	read -ra words < <(ip -n n1 -4 -brief address show dev eth0) || true
	words=("${words[@]:2}")
	echo "${words[*]%/*}"
}

answers_or_gone() {
	gone netconf || netconf_answers
}

nothing_under_way() {
	[[ $(fairlead n1 -o json net status 2>/dev/null) == *'"change":null'* ]]
}

CONFIRMED= # the operator was told so

is_kept() {
	grep -qs 10.1.0.1 "$T/state/confirmed/config.yaml"
}

# Confirmed is what the change itself says from then on. The copy that is kept may come with the next
# start, and netconf says so then. A change that is not confirmed, because the daemon is gone, is waited for
# until it is undone, so that is soon.
path_walk() {
	CONFIRMED=
	rm -rf "$T/state"
	netconf_with "$PROGRAMS/netconf"
	wait_until 60 answers_or_gone
	if tell_netconf apply --confirm-within 20s "$T/good.yaml" && tell_netconf confirm; then
		[[ $(addresses) == 10.1.0.1 ]] || lie "netconf said that it is confirmed, and there is '$(addresses)'"
		CONFIRMED=yes
		if ! is_kept; then
			log_says netconf 'event=confirmation_unfinished' || lie "what was confirmed is not kept"
		elif tell_netconf apply --confirm-within 20s "$T/other.yaml" && tell_netconf rollback; then
			[[ $(addresses) == 10.1.0.1 ]] || lie "netconf said that it is undone, and there is '$(addresses)'"
		fi
	fi
	end netconf
}

# What nobody has confirmed goes; what is there then is the one or the other, and no mixture.
path_again() {
	netconf_with "$BUILD/bin/netconf"
	wait_until 60 nothing_under_way
	[[ -z $CONFIRMED ]] || is_kept || lie "what was confirmed is not kept after the next start"
	[[ $(addresses) =~ ^(10\.1\.0\.1)?$ ]] || fail "a change that nobody confirmed is left: '$(addresses)'"
	wait_until 60 tell_netconf apply "$T/good.yaml"
	nothing_under_way || tell_netconf confirm || fail "it cannot be confirmed"
	expect_equal "the addresses" "$(addresses)" 10.1.0.1
	end_well netconf
	ip -n n1 address flush dev eth0 to 10.1.0.1/32
}
