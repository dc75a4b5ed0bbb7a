# SPDX-License-Identifier: Apache-2.0
# The faults, one function each: brought upon the node that owns all four addresses, watched until somebody
# else has each of them and some time longer, and mended. What is measured, from the fault to the end:
#
#   FAULT_gap_ms       the longest time without an answer by ARP, whoever gives it
#   FAULT_overlap_ms   for how long two answered, by ARP or TCP (tests/tools/wirelog/figures.h has the words).
#                      Where nobody would ever have ended it, it is as long as it was watched
#   FAULT_silence_ms   when the old owner was last heard; FAULT_takeover_ms: when another answered

AFTER_S=2 # watched so much longer

figure() { # SUBJECT NAME FIGURE OPTION...
	local subject=$1 name=$2 what=$3 value VIP=${ADDRESS[$1]}
	shift 3
	value=$(wire_figure "$what" "$@")
	[[ $value == -1 ]] || sample "${subject}_$name" ms "$value"
}

# The four figures of a fault that began with the mark BEGAN. One look at the logs, which grow with each run.
measure() { # FAULT BEGAN SUBJECT
	local fault=$1 subject=$3 VIP=${ADDRESS[$3]} figures name value
	figures=$(wire_figure '| "gap \(.gap_ms)", "overlap \(.overlap_ms)", "silence \(.old_last_ms)", "takeover \(.to_new_ms)"' \
		--from "$2" --until "end of $2")
	while read -r name value; do
		[[ $value == -1 ]] || sample "${subject}_${fault}_${name}_ms" ms "$value"
	done <<<"$figures"
}

# Faults come at any time of an interval.
begin() { # SENTENCE; sets BEGAN
	nap "0.$((RANDOM % 10))"
	say "$*"
	BEGAN=$*
}

measured() { # FAULT
	mark_all "end of $BEGAN"
	each measure "$1" "$BEGAN"
}

# Whether, at the end, the address is where it should not be any more: 1 or 0.
sample_holds() { # NAME NODE SUBJECT
	local VIP=${ADDRESS[$3]} value=0
	! holds "$2" || value=1
	sample "$3_$1" 0/1 "$value"
}

# Told to end, as a service manager does.
fault_stop() { # RUN
	begin "stopped, $1"
	local subject
	for subject in "${SUBJECTS[@]}"; do
		signal TERM "$subject-$OWNER"
	done
	wait_until 20 another_holds_each "$OWNER"
	nap "$AFTER_S"
	measured stop
	for subject in "${SUBJECTS[@]}"; do
		wait_exit 10 "$subject-$OWNER"
	done
	together subject_start "$OWNER"
}

fault_kill() { # RUN
	begin "kill -9, $1"
	together subject_end KILL "$OWNER"
	wait_until 20 another_holds_each "$OWNER"
	nap "$AFTER_S"
	measured kill
	each sample_holds kill_address_left "$OWNER"
	together subject_start "$OWNER"
}

# SIGSTOP, long enough for a takeover, and then it goes on as if nothing had been.
fault_freeze() { # RUN
	begin "SIGSTOP, $1"
	together subject_signal STOP "$OWNER"
	wait_until 20 another_holds_each "$OWNER"
	nap "$AFTER_S"
	local woken="SIGCONT, $1" subject
	say "$woken"
	together subject_signal CONT "$OWNER"
	nap "$AFTER_S"
	measured freeze
	for subject in "${SUBJECTS[@]}"; do
		figure "$subject" thaw_overlap_ms overlap_ms --from "$woken" --until "end of $BEGAN"
	done
	each sample_holds thaw_address_back "$OWNER"
}

# etcd and the other daemons cannot be reached; clients on the LAN can. etcd's leader is elsewhere, here and
# where it is not said otherwise: what its election takes is seen in power_leader.
fault_cut() { # RUN
	etcd_move_leader "$(node_other_than "$OWNER")"
	quiet
	begin "cut off, $1"
	nft_cut "$OWNER"
	wait_until 20 another_holds_each "$OWNER"
	nap "$AFTER_S"
	local healed="whole again, $1" subject
	say "$healed"
	mgmt_pass "$OWNER"
	nap "$AFTER_S"
	measured cut
	each sample_holds heal_address_back "$OWNER"
}

# VRRP on the LAN, and all of mgmt, in one transaction.
nft_cut() { # NODE
	inside "$1" nft -f - <<-NFT
		add table inet story
		add chain inet story in { type filter hook input priority -200; }
		add chain inet story out { type filter hook output priority -200; }
		add rule inet story in iifname eth1 drop
		add rule inet story out oifname eth1 drop
		add rule inet story in ip protocol vrrp drop
		add rule inet story out ip protocol vrrp drop
	NFT
}

fault_power() { # RUN
	etcd_move_leader "$(node_other_than "$OWNER")"
	power_fails power "$1"
}

# The node that is lost led etcd as well.
fault_power_leader() { # RUN
	etcd_move_leader "$OWNER"
	power_fails power_leader "$1"
}

power_fails() { # FAULT RUN
	quiet
	begin "loss of power ($1), $2"
	power_off "$OWNER"
	wait_until 30 another_holds_each "$OWNER"
	nap "$AFTER_S"
	measured "$1"
	rm -rf "$T"/run-*-"$OWNER"
	power_on "$OWNER"
	etcd_start "$OWNER"
	api_start "$OWNER"
	wait_until 30 etcd_is_healthy
	together subject_start "$OWNER"
}

# `fairlead vip move`, which keepalived has no word for.
fault_move() { # RUN
	local subject
	begin "move, $1"
	for subject in "${VIPDS[@]}"; do
		vipd_move "$subject" "$OWNER"
	done
	for subject in "${VIPDS[@]}"; do
		wait_until 10 another_holds "$subject" "$OWNER"
		wait_until 10 subject_settled "$subject"
	done
	nap 1
	mark_all "end of $BEGAN"
	for subject in "${VIPDS[@]}"; do
		measure move "$BEGAN" "$subject"
	done
}
