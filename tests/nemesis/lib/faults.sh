# SPDX-License-Identifier: Apache-2.0
# The words of the plan: begin_KIND and end_KIND, called with ID NODE ARGUMENT... MS. What returns 1 could
# not be done just now, because of another fault. Nothing here waits: what takes longer goes to the
# background, and what has to be done in this process after that is done by `faults_turn`.

declare -gA FAULT_PIDS=() # ID -> process ids that it has stopped
FREEZER=${FREEZER:-} # a folder of the freezer's, if there is one; else whole trees are stopped

LATER=() # process ids of what runs in the background

later() { # COMMAND...: in the background; it cannot start processes of the story
	("$@" >>"$LOG_DIR/commands.log" 2>&1 || :) &
	LATER+=($!)
}

# The same; if it fails, there was no fault.
attempt() { # ID COMMAND...
	("${@:2}" >>"$LOG_DIR/commands.log" 2>&1 || event "missed $1") &
	LATER+=($!)
}

# --- processes ---------------------------------------------------------------------------------------

begin_kill() { node_kill KILL "$3" "$2"; }
end_kill() { node_revive "$3" "$2"; }

begin_stop() { fault_stop "$1" "${PID[$3-$2]}"; }
end_stop() { fault_go_on "$1"; }

fault_stop() { # ID PID...
	FAULT_PIDS[$1]=${*:2}
	# shellcheck disable=SC2086
	kill -STOP ${FAULT_PIDS[$1]} 2>/dev/null
}

# A process that was killed meanwhile is no longer ours to go on; its number may be another's.
fault_go_on() { # ID
	local pid
	for pid in ${FAULT_PIDS[$1]:-}; do
		[[ ! -e /proc/$pid ]] || kill -CONT "$pid" 2>/dev/null || :
	done
	unset "FAULT_PIDS[$1]"
}

begin_probe() {
	local pid
	pid=$(pgrep -P "${PID[prism-$2]}") || return 1
	# shellcheck disable=SC2086
	kill -KILL $pid
}

# vipd leaves everything as it is for the next one, the others end.
begin_restart() {
	local signal=TERM
	[[ $3 != vipd ]] || signal=USR2
	node_kill "$signal" "$3" "$2" || return 1
	node_revive "$3" "$2"
}

begin_reload() {
	VARIANT[$3-$2]=$4
	node_configure "$3" "$2"
	if [[ $3 == netconf ]]; then
		attempt "$1" net_change "$2"
	else
		alive "$3-$2" && kill -HUP "${PID[$3-$2]}"
	fi
}

# Of a configuration that cannot work it is the change to be refused.
net_change() { # NODE
	if [[ ${VARIANT[netconf-$1]:-0} -eq 5 ]]; then
		fairlead "$1" net status && ! fairlead "$1" net apply "$T/net-$1.yaml"
		return
	fi
	FAIRLEAD_TIMEOUT=$((FAIRLEAD_TIMEOUT + 5)) fairlead "$1" net apply --confirm-within 10s "$T/net-$1.yaml" &&
		fairlead "$1" net confirm
}

begin_freeze() {
	local pids
	pids=$(node_pids "$2")
	if [[ -z $FREEZER ]]; then
		fault_stop "$1" "$pids"
		return
	fi
	mkdir -p "$FREEZER/$1"
	printf '%s\n' $pids | while read -r pid; do
		echo "$pid" >"$FREEZER/$1/cgroup.procs" || :
	done 2>/dev/null
	echo FROZEN >"$FREEZER/$1/freezer.state"
}

end_freeze() {
	if [[ -z $FREEZER ]]; then
		fault_go_on "$1"
		return
	fi
	echo THAWED >"$FREEZER/$1/freezer.state"
	while read -r pid; do
		echo "$pid" >"$FREEZER/cgroup.procs" || :
	done <"$FREEZER/$1/cgroup.procs" 2>/dev/null
	rmdir "$FREEZER/$1" 2>/dev/null || :
}

# All that runs on a node but the client, which stands for the node's programs.
node_pids() { # NODE
	local pid
	for pid in $(ip netns pids "$1"); do
		[[ $pid == "${PID[client-$1]}" ]] || echo "$pid"
	done
}

# --- the network -------------------------------------------------------------------------------------

# An own table for each cut, of both families: they overlap. What the node forwards to its pod is cut as well.
begin_cut() {
	local links='{ eth0, eth1 }' hooks=(in out) hook family
	case $3 in
	lan) links=eth0 ;;
	etcd) links=eth1 ;;
	esac
	[[ $4 == both ]] || hooks=("$4")
	for family in inet arp; do
		echo "add table $family nemesis$1"
		for hook in "${hooks[@]}"; do
			echo "add chain $family nemesis$1 $hook { type filter hook ${hook}put priority -200; }"
			echo "add rule $family nemesis$1 $hook ${hook:0:1}ifname $links drop"
			[[ $family == inet ]] || continue
			echo "add chain inet nemesis$1 forward-$hook { type filter hook forward priority -200; }"
			echo "add rule inet nemesis$1 forward-$hook ${hook:0:1}ifname $links drop"
		done
	done | inside "$2" nft -f -
}

end_cut() {
	inside "$2" nft -f - <<<"delete table inet nemesis$1
delete table arp nemesis$1"
}

begin_cable() { cable_out "$2" "$3"; }
end_cable() { cable_in "$2" "$3"; }

# Both ways, at the switch's end and at the node's; one at a time on a link.
begin_netem() {
	local link=eth0
	[[ $3 == lan ]] || link=eth1
	tc -n sw qdisc replace dev "$2-$3" root netem delay "$4ms" "$4ms" loss "$5%" &&
		tc -n "$2" qdisc replace dev "$link" root netem delay "$4ms" "$4ms" loss "$5%"
}

end_netem() {
	local link=eth0
	[[ $3 == lan ]] || link=eth1
	tc -n sw qdisc delete dev "$2-$3" root 2>/dev/null || :
	tc -n "$2" qdisc delete dev "$link" root 2>/dev/null || :
}

# --- operators, clocks, disks ------------------------------------------------------------------------

begin_move() { attempt "$1" fairlead "$2" vip move "$VIP"; }
begin_hold() { attempt "$1" fairlead "$2" vip hold; }
end_hold() { later fairlead "$2" vip unhold; }
begin_snapshot() { FAIRLEAD_TIMEOUT=$SNAPSHOT_TIMEOUT attempt "$1" fairlead "$2" etcd snapshot save; }

begin_clock() { node_clock "$2" "$3"; }
end_clock() { node_clock "$2" 0; }

begin_disk() {
	head -c "$((DISK_MIB << 20))" /dev/zero >"$T/disk-$2/fill-$1" 2>/dev/null || :
}
end_disk() { rm -f "$T/disk-$2/fill-$1"; }

# --- API servers -------------------------------------------------------------------------------------

begin_api() {
	case $3 in
	broken) api_answer "$2" broken ;;
	hang) fault_stop "$1" "$(api_pids "$2")" ;;
	kill)
		[[ -n ${EXPECTED[api-$2]:-} ]] || return 1
		unset "EXPECTED[api-$2]"
		event "down api-$2"
		# shellcheck disable=SC2046
		kill -KILL $(api_pids "$2")
		;;
	esac
}

end_api() {
	case $3 in
	broken) api_answer "$2" ok ;;
	hang) fault_go_on "$1" ;;
	kill) node_revive api "$2" ;;
	esac
}

# --- etcd --------------------------------------------------------------------------------------------

begin_etcdkill() { node_kill KILL etcd "$2"; }
end_etcdkill() { [[ -n ${MEMBERS_OUT[$2]:-} ]] || node_revive etcd "$2"; } # member_start does it else
begin_etcdstop() { fault_stop "$1" "${PID[etcd-$2]}"; }
end_etcdstop() { fault_go_on "$1"; }

begin_leader() { attempt "$1" leader_to "$2"; }

leader_to() { # NODE
	local leader id
	leader=$(etcd_leader)
	[[ -n $leader && $leader != "$1" ]] || return 1
	id=$(member_id "$1")
	ETCD_AT=$leader etcd_ctl move-leader "$id"
}

member_id() { # NODE
	etcd_ctl member list | awk -F ', ' -v url="https://$(mgmt_ip "$1"):2380" '$4 == url { print $1 }'
}

# Its process ends by itself once it hears of that.
begin_member() {
	[[ -n ${EXPECTED[etcd-$2]:-} ]] || return 1
	unset "EXPECTED[etcd-$2]"
	MEMBERS_OUT[$2]=yes
	event "down etcd-$2"
	attempt "$1" member_remove "$2"
}

# One that could not be removed is there: a mark that it is back would be taken for the next removal's end.
end_member() {
	[[ -z ${MEMBERS_OUT[$2]:-} ]] || later member_add "$2"
}

declare -gA MEMBERS_OUT=() # NODE: whose member may be removed

member_remove() { # NODE
	local id
	id=$(member_id "$1")
	[[ -n $id ]] && etcd_ctl member remove "$id"
}

# A member that is not in the list comes back as a new one, with nothing on its disk.
member_add() { # NODE
	local id
	etcd_ctl member list >"$T/members-$1" && [[ -s $T/members-$1 ]] || return 1
	id=$(member_id "$1")
	if [[ -z $id ]]; then
		etcd_ctl member add "$1" --peer-urls "https://$(mgmt_ip "$1"):2380" || return 1
		touch "$T/member-new-$1"
	fi
	touch "$T/member-back-$1"
}

# One that is frozen cannot be ended yet: 1, and it is tried again.
member_start() { # NODE
	if [[ -e $T/member-new-$1 ]]; then
		if alive "etcd-$1"; then
			kill -KILL "${PID[etcd-$1]}"
			return 1
		fi
		rm -rf "$T/member-new-$1" "$T/etcd-$1"
	fi
	rm -f "$T/member-back-$1"
	unset "MEMBERS_OUT[$1]"
	if alive "etcd-$1"; then
		EXPECTED[etcd-$1]=yes
	else
		node_revive etcd "$1"
	fi
}

members_start() {
	local node
	for node in "${!MEMBERS_OUT[@]}"; do
		[[ ! -e $T/member-back-$node ]] || member_start "$node" || :
	done
}

# All members are there and run; what could not be done during the storm is done now.
members_are_back() {
	local node
	for node in "${NODES[@]}"; do
		if [[ -z ${MEMBERS_OUT[$node]:-} ]]; then
			node_revive etcd "$node"
		elif [[ ! -e $T/member-back-$node ]]; then
			member_add "$node" || return 1
		fi
	done
	members_start
	node_revive_gone
	etcd_is_healthy
}

# Between two faults.
faults_turn() {
	node_reap
	node_revive_gone
	members_start
}
