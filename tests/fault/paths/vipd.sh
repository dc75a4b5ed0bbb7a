# SPDX-License-Identifier: Apache-2.0
# vipd takes an address, is put on hold and off it, and hands the address over. Who is told that it is
# the owner can reach the address; what it leaves behind has a lifetime.
PROGRAM=vipd
SHORTAGE='Cannot allocate memory|No buffer space available|Too many open files|Address already in use'

path_begin() {
	VIP=10.86.0.100
	lan_up
	etcd_alone
	cat >"$T/vipd.yaml" <<-YAML
		apiVersion: fairlead/v1
		kind: NodeConfig
		name: n1
		---
		apiVersion: fairlead/v1
		kind: EtcdClientConfig
		endpoints: ["http://127.0.0.1:2379"]
		---
		apiVersion: v1alpha1
		kind: Layer2VIPConfig
		name: $VIP
		link: eth0
		---
		apiVersion: fairlead/v1
		kind: VIPPolicyConfig
		fenceWindow: 1500ms
	YAML
}

vipd_run() { # PROGRAM
	mkdir -p "$T/run-n1"
	spawn vipd n1 env "${FAULT[@]}" "$1" --config "$T/vipd.yaml" --runtime-dir "$T/run-n1"
}

is_owner() {
	says_owner && [[ -n $(holders) ]]
}

says_owner() {
	[[ $(fairlead n1 -o json vip status "$VIP") == *'"state":"owner"'* ]]
}

# A fence may act between two looks; not each time.
owns_what_it_says() {
	local i
	for ((i = 0; i < 10; i++)); do
		! says_owner || [[ -n $(holders) ]] || continue
		return 0
	done 2>/dev/null
	lie "vipd says that it owns an address that is not there"
}

owner_or_gone() {
	gone vipd || { owns_what_it_says && is_owner; }
}

answers_or_gone() {
	gone vipd || inside cl ping -c 1 -W 1 "$VIP"
}

tell_vipd() { # WORD
	local code=0
	FAIRLEAD_TIMEOUT=60 fairlead n1 vip "$1" || code=$?
	[[ $code -ne 124 ]] || gone vipd || fail "vipd did not answer: $1"
	return "$code"
}

# Who is told that it is on hold has that for the next start, too.
hold() {
	! tell_vipd hold || kept_hold true || lie "vipd said that it is on hold, and keeps nothing of it"
	! tell_vipd unhold || kept_hold false || lie "vipd said that it is no longer on hold, and keeps that it is"
} >>"$LOG_DIR/commands.log" 2>&1

kept_hold() { # true|false
	grep -Eq "\"onHold\": ?$1" "$T/run-n1/vipd.state"
}

# Nobody takes it away from a program that is gone, but the kernel.
is_fenced() {
	! ip -n n1 address show dev eth0 to "$VIP" | has_line 'valid_lft forever' || lie "an address for ever is left"
}

path_walk() {
	vipd_walk
}

vipd_walk() {
	vipd_run "$PROGRAMS/vipd"
	wait_until 60 owner_or_gone
	wait_until 60 answers_or_gone
	hold
	end vipd
	is_fenced
	# Of what an adopted address has left of its fence, systemd's pause after an exit would use up two seconds.
	[[ $EXIT_CODE -ne 1 ]] || ! log_says vipd "event=netlink_failed .*err=\"($SHORTAGE)\"" ||
		lie "vipd exited for a shortage that goes by"
	[[ $EXIT_CODE -ne 0 ]] || [[ -z $(holders) ]] || lie "vipd ended well and left its address"
}

path_again() {
	vipd_run "$BUILD/bin/vipd"
	# It may have ended while it was on hold, and keeps to that.
	wait_until 60 fairlead n1 vip unhold
	wait_until 60 is_owner
	wait_until 60 answers_or_gone
	end_well vipd
	expect_equal "who has the address" "$(holders)" ""
}
