# SPDX-License-Identifier: Apache-2.0
# What is read: memory of a process with all its descendants, CPU time of it and of those that have ended,
# packets of its user, and what etcd and its log were asked.
#
# PSS halves a page that two processes share. On a machine that runs more than this bench, anybody who has
# the same libraries mapped would make ours look smaller: so each set of programs gets copies of its
# libraries. On a real node they are shared with whatever else uses them: the figures are upper bounds.

declare -A USER_ID=([vipd]=901 [prism]=902 [etcdwatch]=903 [netconf]=904
	[haproxy]=905 [keepalived]=906 [cron]=907)

gauges_begin() {
	local name
	{
		echo 'table inet bench {'
		for name in "${!USER_ID[@]}"; do
			echo "counter ${name}_wire { }"
			echo "counter ${name}_loopback { }"
		done
		# A connection is its user's in both directions. On loopback packets are seen leaving; as they
		# come in they are the same ones. keepalived's own have no user that we could choose.
		echo 'chain out { type filter hook output priority 0;'
		echo 'ip protocol vrrp counter name "keepalived_wire"'
		for name in "${!USER_ID[@]}"; do
			echo "meta skuid ${USER_ID[$name]} ct mark set ${USER_ID[$name]}"
			echo "oifname != lo ct mark ${USER_ID[$name]} counter name ${name}_wire"
			echo "oifname lo ct mark ${USER_ID[$name]} counter name ${name}_loopback"
		done
		echo '}'
		echo 'chain in { type filter hook input priority 0;'
		for name in "${!USER_ID[@]}"; do
			echo "iifname != lo ct mark ${USER_ID[$name]} counter name ${name}_wire"
		done
		echo '}'
		echo '}'
	} | inside n1 nft -f -
}

sample() { # NAME UNIT VALUE
	echo "$1 $2 $3" >>"$SAMPLES"
}

# The process and its descendants.
tree_of() { # PID
	local child
	echo "$1"
	for child in $(cat "/proc/$1/task"/*/children 2>/dev/null); do
		tree_of "$child"
	done
}

memory_of() { # KEY PID...: of smaps_rollup, KiB
	local key=$1 pid
	shift
	for pid in "$@"; do
		cat "/proc/$pid/smaps_rollup" 2>/dev/null || true
	done | awk -v key="$key:" '$1 == key { sum += $2 } END { print sum + 0 }'
}

threads_of() { # PID...
	local pid
	for pid in "$@"; do
		cat "/proc/$pid/status" 2>/dev/null || true
	done | awk '$1 == "Threads:" { sum += $2 } END { print sum + 0 }'
}

# Those that have ended too: ticks of 10 ms.
cpu_ticks_of() { # PID...
	local pid
	for pid in "$@"; do
		cat "/proc/$pid/stat" 2>/dev/null || true
	done | awk '{ sum += $14 + $15 + $16 + $17 } END { print sum + 0 }'
}

# All counters at once, into the map of that name.
packets_into() { # MAP
	local -n map=$1
	local counter packets
	while read -r counter packets; do
		map[$counter]=$packets
	done < <(inside n1 nft -j list counters | jq -r '.nftables[].counter // empty | "\(.name) \(.packets)"')
}

# Frames of the node, both ways, whoever sent them.
frames() {
	awk '/eth[01]:/ { sub(/.*:/, ""); sum += $2 + $10 } END { print sum }' <(inside n1 cat /proc/net/dev)
}

# "REQUESTS ENTRIES": what all members were asked so far, and what was written into etcd's log. A request is
# a message that came in by gRPC (a stream's every one), or a page of figures.
etcd_asked() {
	local node
	for node in "${NODES[@]}"; do
		inside sw curl -sf --cacert "$PKI/etcd-trust.crt" --cert "$PKI/client-admin.crt" \
			--key "$PKI/client-admin.key" "https://$(mgmt_ip "$node"):2379/metrics"
	done | awk '/^grpc_server_msg_received_total/ { asked += $2 }
		/^promhttp_metric_handler_requests_total/ { asked += $2 }
		/^etcd_server_proposals_applied_total/ && $2 > entries { entries = $2 }
		END { printf "%d %d\n", asked, entries }'
}

rate() { # BEFORE AFTER CENTISECONDS
	awk -v before="$1" -v after="$2" -v cs="$3" 'BEGIN { printf "%.4f\n", (after - before) * 100 / cs }'
}

# What etcd was asked a second while all is as it is: RATE_ASKED, RATE_ENTRIES, RATE_FRAMES. To look costs
# three pages, which are not counted.
etcd_rates() { # SECONDS
	local began asked entries frames now_asked now_entries took
	read -r asked entries < <(etcd_asked)
	frames=$(frames)
	began=$(now_cs)
	for_seconds "$1" true
	took=$(($(now_cs) - began))
	RATE_FRAMES=$(rate "$frames" "$(frames)" "$took")
	read -r now_asked now_entries < <(etcd_asked)
	RATE_ASKED=$(rate "$asked" "$((now_asked - ${#NODES[@]}))" "$took")
	RATE_ENTRIES=$(rate "$entries" "$now_entries" "$took")
}

# The same, of a node on which nothing but etcd and the API server runs.
etcd_rates_alone() { # SECONDS
	etcd_rates "$1"
	ALONE_ASKED=$RATE_ASKED ALONE_ENTRIES=$RATE_ENTRIES ALONE_FRAMES=$RATE_FRAMES
}

sample_beyond_alone() { # NAME
	sample "$1_etcd_requests_per_s" 1/s "$(difference "$RATE_ASKED" "$ALONE_ASKED")"
	sample "$1_etcd_entries_per_s" 1/s "$(difference "$RATE_ENTRIES" "$ALONE_ENTRIES")"
	sample "$1_node_frames_per_s" 1/s "$(difference "$RATE_FRAMES" "$ALONE_FRAMES")"
}

difference() { # AFTER BEFORE
	awk -v after="$1" -v before="$2" 'BEGIN { printf "%.4f\n", after - before }'
}

# Memory, threads and, over SECONDS, CPU time and packets: of each NAME, and of all as ALL.
gauge() { # SECONDS ALL NAME...
	local seconds=$1 all=$2 name began took every=()
	local -A pids=() ticks=() before=() after=()
	shift 2
	for name in "$@"; do
		pids[$name]=$(tree_of "${PID[$name]}" | tr '\n' ' ')
		ticks[$name]=$(cpu_ticks_of ${pids[$name]})
	done
	packets_into before
	began=$(now_cs)
	for_seconds "$seconds" true
	took=$(($(now_cs) - began))
	packets_into after
	for name in "$@"; do
		sample "${name}_cpu_percent" % "$(rate "${ticks[$name]}" "$(cpu_ticks_of ${pids[$name]})" "$took")"
		sample "${name}_wire_packets_per_s" 1/s \
			"$(rate "${before[${name}_wire]}" "${after[${name}_wire]}" "$took")"
		sample "${name}_loopback_packets_per_s" 1/s \
			"$(rate "${before[${name}_loopback]}" "${after[${name}_loopback]}" "$took")"
	done
	sum_of_last "$all" cpu_percent % "$@"
	sum_of_last "$all" wire_packets_per_s 1/s "$@"
	sum_of_last "$all" loopback_packets_per_s 1/s "$@"
	for name in "$@"; do
		every+=(${pids[$name]})
		gauge_memory "$name" ${pids[$name]}
	done
	gauge_memory "$all" "${every[@]}"
}

gauge_memory() { # NAME PID...
	local name=$1
	shift
	sample "${name}_processes" n "$#"
	sample "${name}_threads" n "$(threads_of "$@")"
	sample "${name}_rss_kib" KiB "$(memory_of Rss "$@")"
	sample "${name}_pss_kib" KiB "$(memory_of Pss "$@")"
	sample "${name}_dirty_kib" KiB "$(memory_of Private_Dirty "$@")"
}

# A sum of what was sampled last of each.
sum_of_last() { # ALL FIGURE UNIT NAME...
	local all=$1 figure=$2 unit=$3
	shift 3
	sample "${all}_$figure" "$unit" "$(awk -v names="$*" -v figure="$figure" '
		{ last[$1] = $3 }
		END {
			n = split(names, name, " ")
			for (i = 1; i <= n; i++)
				sum += last[name[i] "_" figure]
			print sum
		}' "$SAMPLES")"
}
