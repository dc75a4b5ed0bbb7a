# SPDX-License-Identifier: Apache-2.0
# Whom failover.sh measures: each runs on every node and has an address of its own, so that one fault hits
# all at the same moment, and the observer sees what each makes of it.
#
#   vipd             as it comes
#   vipd_fast        fenceWindow: 1500ms, or FAST_WINDOW
#   keepalived       advert_int 1 (keepalived.conf)
#   keepalived_fast  advert_int 0.1

SUBJECTS=(vipd vipd_fast keepalived keepalived_fast)
VIPDS=(vipd vipd_fast)
declare -A ADDRESS=([vipd]=10.86.0.100 [vipd_fast]=10.86.0.101 [keepalived]=10.86.0.102 [keepalived_fast]=10.86.0.103)
declare -A ADVERT=([keepalived]=1 [keepalived_fast]=0.1)
declare -A PRIORITY=([n1]=200 [n2]=150 [n3]=100)
FAST_POLICY="fenceWindow: ${FAST_WINDOW:-1500ms}"

is_vipd() { # SUBJECT
	[[ $1 == vipd* ]]
}

subject_start() { # SUBJECT NODE
	local VIP=${ADDRESS[$1]} POLICY=$POLICY
	if [[ $1 == vipd_fast ]]; then
		POLICY+=$'\n'$FAST_POLICY
	fi
	if is_vipd "$1"; then
		vipd_spawn "$1-$2" "$2"
	else
		keepalived_start "$1" "$2"
	fi
}

keepalived_start() { # SUBJECT NODE
	local config=$T/$1-$2.conf
	sed -e "s/@ROUTER@/${VIP##*.}/" -e "s/@PRIORITY@/${PRIORITY[$2]}/" -e "s/@ADVERT@/${ADVERT[$1]}/" \
		-e "s/@ADDRESS@/$VIP/" "$ROOT/bench/failover/keepalived.conf" >"$config"
	# A pid file that a killed one left behind would tell the next that it runs already.
	rm -f "$T/$1-$2".{pid,vrrp}
	spawn "$1-$2" "$2" keepalived --dont-fork --vrrp --log-console --use-file "$config" \
		--pid "$T/$1-$2.pid" --vrrp_pid "$T/$1-$2.vrrp"
}

# All processes of the daemon: keepalived's second one does the work, its first would start another. The
# first comes last: when it is gone the kernel tells the second to end, and that one says farewell.
subject_pids() { # SUBJECT NODE
	local pid=${PID[$1-$2]}
	is_vipd "$1" || pgrep -P "$pid" keepalived || true
	echo "$pid"
}

subject_signal() { # SIGNAL SUBJECT NODE
	# shellcheck disable=SC2046
	kill "-$1" $(subject_pids "$2" "$3")
}

# The daemon is told to end, or ended, and gone when this returns.
subject_end() { # SIGNAL SUBJECT NODE
	if [[ $1 == KILL ]]; then
		subject_signal KILL "$2" "$3"
		wait "${PID[$2-$3]}" 2>/dev/null || true
		unset "PID[$2-$3]"
	else
		signal TERM "$2-$3"
		wait_exit 10 "$2-$3"
	fi
}

each() { # COMMAND...: with each subject as its last word
	local subject
	for subject in "${SUBJECTS[@]}"; do
		"$@" "$subject"
	done
}

# All at once, as a fault of the node is.
together() { # COMMAND...: with each subject as its last word but one, and NODE as its last
	local subject node=${*: -1}
	local command=("${@:1:$#-1}")
	for subject in "${SUBJECTS[@]}"; do
		"${command[@]}" "$subject" "$node"
	done
}

subject_holders() { # SUBJECT
	local VIP=${ADDRESS[$1]}
	holders
}

# Somebody besides NODE has the address; NODE may still have it as well.
another_holds() { # SUBJECT NODE
	local holder
	for holder in $(subject_holders "$1"); do
		[[ $holder == "$2" ]] || return 0
	done
	return 1
}

another_holds_each() { # NODE
	local subject
	for subject in "${SUBJECTS[@]}"; do
		another_holds "$subject" "$1" || return 1
	done
}

vipd_state_is() { # SUBJECT NODE STATE
	local name=$2
	[[ $1 == vipd ]] || name=$1-$2
	[[ $(fairlead "$name" -o json vip status "${ADDRESS[$1]}" | jq -r .state) == "$3" ]]
}

vipd_move() { # SUBJECT FROM [TO]
	local name=$2
	[[ $1 == vipd ]] || name=$1-$2
	fairlead "$name" vip move "${ADDRESS[$1]}" ${3:+to "$3"} >/dev/null
}

# One node has the address, and all others know it.
subject_settled() { # SUBJECT
	local owner node
	owner=$(subject_holders "$1")
	[[ -n $owner && $owner != *" "* ]] || return 1
	is_vipd "$1" || return 0
	for node in "${NODES[@]}"; do
		if [[ $node == "$owner" ]]; then
			vipd_state_is "$1" "$node" owner || return 1
		else
			vipd_state_is "$1" "$node" standby || return 1
		fi
	done
}

# Brings a subject's address to a node without a fault.
subject_bring() { # SUBJECT NODE
	local owner node
	wait_until 30 subject_settled "$1"
	owner=$(subject_holders "$1")
	[[ $owner != "$2" ]] || return 0
	if is_vipd "$1"; then
		vipd_move "$1" "$owner" "$2" || return 1
	else
		# keepalived has no word for it: whoever else could take the address is not there.
		for node in "${NODES[@]}"; do
			[[ $node == "$2" ]] || subject_end TERM "$1" "$node"
		done
		wait_until 10 another_holds "$1" "$owner"
		for node in "${NODES[@]}"; do
			[[ $node == "$2" ]] || subject_start "$1" "$node"
		done
	fi
	wait_until 10 subject_settled "$1"
	[[ $(subject_holders "$1") == "$2" ]]
}
