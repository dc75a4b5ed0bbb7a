# SPDX-License-Identifier: Apache-2.0
# Drills on node n1: DRILL_PROGRAMS are keys of the section `drill`, as soon as drill_programs has been
# called.

DRILL_PROGRAMS=

# The programs where nobody's user reaches them, and an etcd of the drill that first looks around, as
# $T/seen/how says: go, fail, hang; or that comes back with other keys, or compacted.
drill_programs() {
	local tool
	tool=$ETCD_BIN/etcdutl
	[[ -x $tool ]] || tool=$ETCD_BIN/etcdctl
	install -D -m 755 "$ETCD_BIN/etcd" "$T/bin/etcd"
	install -D -m 755 "$tool" "$T/bin/restore-tool"
	install -D -m 755 "$ETCD_BIN/etcdctl" "$T/bin/etcdctl"
	install -d -o nobody "$T/seen"
	echo go >"$T/seen/how"
	cat >"$T/bin/drill-etcd" <<-SH
		#!/bin/bash
		readlink /proc/self/ns/net >$T/seen/net
		cut -d : -f 1 -s /proc/net/dev | tr -d ' ' | grep -v '^Inter' >$T/seen/links
		timeout 1 bash -c ': </dev/tcp/$(mgmt_ip n1)/2380' 2>/dev/null && touch $T/seen/reached
		timeout 1 bash -c ': </dev/tcp/127.0.0.1/2379' 2>/dev/null && touch $T/seen/reached
		pwd >$T/seen/room
		echo "\$*" >$T/seen/words
		read -r pid _ </proc/self/stat # as it is called outside
		echo "\$pid" >$T/seen/pid
		case \$(<$T/seen/how) in
		go) ;;
		other) sed -i s,fill/2,fill/1,g data/member/snap/db ;;
		compacted)
			# Where the drill does not ask: it would take this one for the etcd that it waits for.
			$T/bin/etcd "\$@" --listen-client-urls http://127.0.0.1:12379 &
			export ETCDCTL_API=3 ETCDCTL_ENDPOINTS=http://127.0.0.1:12379
			until $T/bin/etcdctl endpoint health; do read -r -t 0.1 <> <(:) || true; done
			$T/bin/etcdctl compact --physical "\$(<$T/seen/revision)"
			kill -TERM %1
			wait %1
			unset ETCDCTL_API ETCDCTL_ENDPOINTS
			;;
		fail) echo 'panic: the pages are gone' >&2; exit 7 ;;
		hang) sleep 1000 & wait ;;
		esac
		exec $T/bin/etcd "\$@"
	SH
	chmod 755 "$T/bin/drill-etcd"
	DRILL_PROGRAMS="etcd: $T/bin/drill-etcd, etcdutl: $T/bin/restore-tool"
}

drill_field() { # FILTER
	job n1 ".drill$1"
}

drill_now() { # sets CODE
	CODE=0
	timeout 60 "$FAIRLEAD" --runtime-dir "$T/run-n1" "$@" etcd drill >"$T/drill.out" 2>"$T/drill.err" || CODE=$?
}

nothing_is_left() {
	[[ ! -e $(etcdwatch_directory n1)/drill ]]
}
