#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Three members of a real etcd, with TLS, leases and authentication; somebody deletes what must not be
# deleted. `fairlead etcd restore` refuses whatever would go wrong, survives kill -9, and makes the
# cluster anew by the commands that its plan prints: the ids are those of the plan, what was deleted is
# there again, what came after the snapshot is not, a watch that began before sees a compaction, and
# the old data is where the plan said, untouched.

. "$(dirname "$0")/lib-etcdwatch.sh"

restore() { # NODE ARGUMENT...
	local node=$1
	shift
	inside "$node" env PATH="$ETCD_BIN:$PATH" "$FAIRLEAD" etcd restore \
		--data-dir "$T/etcd-$node" --manifests "$T/manifests" "$@"
}

# The restore of n1 fails, changes nothing and says why.
refused() { # PATTERN ARGUMENT...
	local pattern=$1 before
	shift
	before=$(tree_of "$T/etcd-n1")
	! restore n1 --yes "$@" >"$T/out" 2>&1 || fail "not refused: $*"
	grep -Eq -- "$pattern" "$T/out" || fail "refused, but not because of '$pattern': $(tail -n 3 "$T/out")"
	expect_equal "the data directory" "$(tree_of "$T/etcd-n1")" "$before"
	expect_equal "what is beside it" "$(echo "$T"/etcd-n1*)" "$T/etcd-n1"
}

# Which files there are, and whose; and that none was written to since.
tree_of() { # DIRECTORY
	(cd "$1" && find . -printf '%p %i %U %G %m %s %T@\n' | sort)
}

# With time for a machine that is busy.
ctl() {
	etcd_ctl --command-timeout 20s --dial-timeout 10s "$@"
}

ctl_as_root() {
	ctl --user root:secret "$@"
}

stop_all() {
	kill_hard etcd-n1 etcd-n2 etcd-n3
}

ETCD_OPTIONS=(--bcrypt-cost 4) # passwords are checked in no time
cluster_of_etcd
mkdir "$T/manifests"
if "$ETCD_BIN/etcdutl" version >/dev/null 2>&1; then
	TOOL=$ETCD_BIN/etcdutl
	can_bump=yes
else
	TOOL=$ETCD_BIN/etcdctl
	can_bump=
fi

say "a snapshot, and then a mistake"
ETCD_AT=n1 ctl snapshot save "$T/early.db" >/dev/null
for key in a b c; do
	ctl put "/registry/$key" "value of $key" >/dev/null
done
lease=$(ctl lease grant 3600 | awk '{ print $2 }')
ctl put --lease="$lease" /registry/leased x >/dev/null
ctl role add reader >/dev/null
for command in "user add root:secret" "user grant-role root root" "auth enable"; do
	# shellcheck disable=SC2086
	ctl $command >/dev/null
done
ETCD_AT=n2 ctl_as_root snapshot save "$T/etcd.db" >/dev/null
chmod 600 "$T/etcd.db"
for ((i = 0; i < 5; i++)); do
	ctl_as_root put /registry/late "$i" >/dev/null
done
ctl_as_root del --prefix /registry/ >/dev/null
# At one member, as the others may not know yet that it has just logged in.
ETCD_AT=n1 ctl_as_root watch --prefix /registry/ --rev 1 >"$T/watch" &
PID[watch]=$!
wait_until 20 grep -q DELETE "$T/watch"

say "it is refused while etcd runs"
restore n1 "$T/etcd.db" >"$T/out" && fail "a plan while etcd runs" || true
expect "the plan says so" grep -q "etcd runs on $T/etcd-n1" "$T/out"
expect "and that the port is taken" grep -q "something listens on https://$(mgmt_ip n1):2380" "$T/out"
restore n1 --name n1 --initial-cluster "n1=https://$(mgmt_ip n1):2380" "$T/etcd.db" >"$T/out" && fail "a plan while etcd runs" || true
expect "the same, where the options name the member" grep -q "something listens on https://$(mgmt_ip n1):2380" "$T/out"
! restore n1 --yes "$T/etcd.db" >"$T/out" 2>&1 || fail "restored while etcd runs"
expect "etcd is unharmed" etcd_is_healthy
# Who watches sleeps meanwhile: gRPC tries again ever later, the longer nobody is there.
signal STOP watch
stop_all

say "and when the snapshot or the place is not right"
cp "$T/etcd.db" "$T/bad.db"
printf X | dd of="$T/bad.db" bs=1 seek=8200 conv=notrunc status=none
refused "digest|page 2" "$T/bad.db" # which is read first
head -c -32 "$T/etcd.db" >"$T/bad.db"
refused "does not end with a digest.*--skip-hash-check" "$T/bad.db"
head -c 8192 "$T/etcd.db" >"$T/bad.db"
refused "pages|file" --skip-hash-check "$T/bad.db"
refused "another snapshot: its SHA-256" --sha256 "$(printf 'a%.0s' {1..64})" "$T/etcd.db"
refused "No such file" "$T/none.db"
refused "no member 'n9' among" --name n9 "$T/etcd.db"
# n2's command on n1, where bind(2) takes any address.
inside n1 sysctl -qw net.ipv4.ip_nonlocal_bind=1
refused "https://$(mgmt_ip n2):2380 is no address of this machine, so 'n2' does not run here" --name n2 "$T/etcd.db"
refused "https://$(mgmt_ip n2):2380 is no address of this machine" --initial-cluster "n2=https://$(mgmt_ip n2):2380" "$T/etcd.db"
inside n1 sysctl -qw net.ipv4.ip_nonlocal_bind=0
refused "has no port" --name n1 --initial-cluster n1=https://10.0.0.1 "$T/etcd.db"
refused "No such file|not etcdutl or etcdctl|cannot run" --tool "$T/no-tool" "$T/etcd.db"
[[ -n $can_bump ]] || refused "cannot raise the revision" --bump-revision 1000 "$T/etcd.db"
revision=$(restore n1 -o json "$T/etcd.db" | jq .plan.snapshot.hashkv_revision)
! inside n1 "$BUILD/bin/etcdwatch-worker" restore run "$T/etcd.db" --data-dir "$T/etcd-n1" --tool "$TOOL" --name n1 \
	--initial-cluster "n1=https://$(mgmt_ip n1):2380" --token t --hashkv 1 --hashkv-revision "$revision" >"$T/out" ||
	fail "restored what is not what the catalogue says"
expect "it is said: $(cat "$T/out")" grep -q "HashKV.*and the catalogue says 1" "$T/out"
echo "volume: $T/etcd-n1" >"$T/manifests/etcd.yaml"
refused "kubelet starts etcd" "$T/etcd.db"
rm "$T/manifests/etcd.yaml"
mv "$T/etcd-n1/member/wal" "$T/wal-n1"
refused "no WAL" "$T/etcd.db"
mv "$T/wal-n1" "$T/etcd-n1/member/wal"
if [[ $ETCD_BIN != /usr/bin && $(/usr/bin/etcdctl version) == *3.4.* ]]; then
	refused "is of etcd 3\.[0-9], and /usr/bin/etcdctl is of 3\.4" --tool /usr/bin/etcdctl "$T/etcd.db"
fi
mkdir "$T/small"
mount -t tmpfs -o size=40m tmpfs "$T/small"
! inside n1 "$FAIRLEAD" etcd restore --tool "$TOOL" --data-dir "$T/small/etcd" --yes "$T/etcd.db" >"$T/out" ||
	fail "restored onto a disk that is too small"
expect "the disk is said to be too small" grep -q "MiB are free" "$T/out"
expect_equal "what is on it" "$(ls -A "$T/small")" ""

say "kill -9 in the middle: the old data is where it was"
cat >"$T/slow-tool" <<TOOL
#!/bin/sh
[ "\$1" != version ] || { echo asked >>$T/asked; exec $TOOL version; }
$TOOL "\$@" || exit
echo \$\$ >$T/tool-pid.new
mv $T/tool-pid.new $T/tool-pid
exec sleep 1000 # it does its work, and then does not end; whoever ends the restore has to end it
TOOL
chmod +x "$T/slow-tool"
before=$(tree_of "$T/etcd-n1")
for victim in KILL/etcdwatch-worker KILL/fairlead INT/etcdwatch-worker; do
	rm -f "$T/tool-pid" "$T/asked"
	restore n1 --yes --tool "$T/slow-tool" "$T/etcd.db" >"$T/out" 2>&1 &
	PID[restore]=$!
	wait_until 60 eval '[[ -e $T/tool-pid ]] || gone restore'
	[[ -e $T/tool-pid ]] || fail "it came not so far: $(cat "$T/out")"
	# The only ones of these names in this world, of which the kernel keeps 15 letters.
	kill -"${victim%/*}" "$(pgrep -x "$(echo "${victim#*/}" | cut -c 1-15)")"
	wait_exit 20 restore
	[[ $EXIT_CODE -ne 0 ]] || fail "restored, although $victim was killed"
	expect_equal "the data directory" "$(tree_of "$T/etcd-n1")" "$before"
	wait_until 10 eval '! kill -0 "$(<"$T/tool-pid")"'
	expect_equal "how often the tool was asked for its version" "$(wc -l <"$T/asked")" 1
	[[ $victim == */fairlead ]] || expect "it says so" grep -q "nothing was changed" "$T/out"
	[[ $victim != INT/* ]] || expect_equal "what is beside it" "$(echo "$T"/etcd-n1*)" "$T/etcd-n1"
done

say "a tool that does something else than it was told"
refused_by() { # PATTERN SCRIPT
	printf '#!/bin/bash\n[[ $1 != version ]] || exec %s version\n%s\n' "$TOOL" "$2" >"$T/odd-tool"
	chmod +x "$T/odd-tool"
	refused "$1" --tool "$T/odd-tool" "$T/etcd.db"
}
refused_by "no room here" 'echo log >&2; echo "Error: no room here" >&2; exit 1'
refused_by "does not hold the keys" "args=(\"\$@\"); args[-1]=$T/early.db; exec $TOOL \"\${args[@]}\""
refused_by "does not have the members" \
	"args=(\"\$@\"); for i in \"\${!args[@]}\"; do [[ \${args[i]} != restore-* ]] || args[i]=another; done; exec $TOOL \"\${args[@]}\""

say "the plan, which changes nothing"
chown -R 4711:4712 "$T/etcd-n1"
before=$(tree_of "$T/etcd-n1")
for how in "" "--yes --dry-run"; do
	# shellcheck disable=SC2086
	restore n1 $how "$T/etcd.db" >"$T/plan" 2>"$T/steps" || fail "no plan: $(cat "$T/plan" "$T/steps")"
	expect_equal "the data directory" "$(tree_of "$T/etcd-n1")" "$before"
	expect_equal "what is beside it" "$(echo "$T"/etcd-n1*)" "$T/etcd-n1"
done
expect "this node is found by its address" grep -Eq "^n1 .*this node$" "$T/plan"

say "carried out on n1, and by the commands that it prints on the others"
command=$(sed -n '/^Nothing was done/{n;p}' "$T/plan")
expect "the command" grep -q ' --yes$' <<<"$command"
eval "set -- $command --manifests $T/manifests"
inside n1 env PATH="$ETCD_BIN:$(dirname "$FAIRLEAD"):$PATH" "$@" >"$T/done" 2>"$T/steps" ||
	fail "not restored: $(cat "$T/steps")"
expect_equal "the old data" "$(tree_of "$T"/etcd-n1.before-restore-*)" "$before"
expect_equal "the owner and mode of the new one" "$(stat -c %u:%g:%a "$T/etcd-n1")" "4711:4712:700"
expect_equal "owners in it" "$(find "$T/etcd-n1" -printf '%U:%G\n' | sort -u)" "4711:4712"
expect "nothing is left over" test ! -e "$T/etcd-n1.restoring"
sed -n '/^On the other nodes/,/^Then:/p' "$T/done" | grep '^fairlead ' >"$T/others"
expect_equal "commands for others" "$(wc -l <"$T/others")" 2
for node in n2 n3; do
	command=$(grep -e "--name $node " "$T/others")
	eval "set -- ${command//etcd-n1/etcd-$node} --manifests $T/manifests -o json"
	inside "$node" env PATH="$ETCD_BIN:$(dirname "$FAIRLEAD"):$PATH" "$@" >"$T/done-$node" ||
		fail "not restored on $node: $(cat "$T/done-$node")"
done
# Nothing but the data directories says so: there is no state of a restore of this node alone.
for node in "${NODES[@]}"; do
	expect_equal "the cluster of $node by its WAL" \
		"$(inside "$node" "$FAIRLEAD" -o json etcd restore status --data-dir "$T/etcd-$node" | jq -r .data.cluster_id)" \
		"$(jq -r 'select(.plan).plan.cluster_id' "$T/done-n3")"
done

say "the cluster is up, and is the one that was planned"
for node in "${NODES[@]}"; do
	etcd_start "$node"
done
wait_until 30 etcd_is_healthy
member_ids=$(ctl_as_root member list | awk -F ', ' '{ print $3, $1 }' | sort)
expect_equal "member ids" "$member_ids" \
	"$(jq -r 'select(.plan).plan.members[] | "\(.name) \(.id)"' "$T/done-n3" | sort)"
expect_equal "member ids in the plan for people" "$(awk '/^n[123] /{ print $1, $2 }' "$T/plan" | sort)" \
	"$member_ids"
cluster_id=$(ctl_as_root endpoint status --write-out fields | awk '/ClusterID/ { print $3; exit }')
expect_equal "cluster id" "$(printf %x "$cluster_id")" "$(jq -r 'select(.plan).plan.cluster_id' "$T/done-n3")"

say "what was deleted is back, what came later is not"
for key in a b c; do
	expect_equal "$key" "$(ctl_as_root get --print-value-only "/registry/$key")" "value of $key"
done
expect_equal "what was late" "$(ctl_as_root get /registry/late)" ""
expect "the lease lives" eval 'ctl_as_root lease timetolive "$lease" --keys | has_line /registry/leased'
expect "authentication is on" eval '! ctl get /registry/a 2>/dev/null'
expect "and the role is there" eval 'ctl_as_root role list | has_line reader'
ctl_as_root put /registry/new x >/dev/null
expect_equal "HashKV on all members" \
	"$(ctl_as_root endpoint hashkv --write-out json | jq -r '.[].HashKV.hash' | sort -u | wc -l)" 1

if [[ -n $can_bump ]]; then
	say "who has been watching all the time is told that it was compacted"
	signal CONT watch
	wait_until 60 log_says etcdctl "revision has been compacted"
	revision=$(ctl_as_root endpoint status --write-out json | jq '.[0].Status.header.revision')
	expect "the revision is raised" test "$revision" -gt 1000000000
fi
kill_hard watch
# In good order, so that all of it is in its database.
signal TERM etcd-n2
wait_exit 20 etcd-n2
stop_all

say "one member alone, from a database of a data directory that is a mount point"
mount -t tmpfs -o size=400m tmpfs "$T/small"
cp -r "$T/etcd-n2" "$T/copy-n2"
# Keys that are no revisions any more, which etcd's tool does not look for.
cp -r "$T/copy-n2" "$T/odd-n2"
perl -0777 -pi -e 's/(\0{5}[^\0]?..)_(\0{8})/$1X$2/gs' "$T/odd-n2/member/snap/db"
before=$(tree_of "$T/etcd-n1")
! restore n1 --yes --alone --skip-hash-check "$T/odd-n2" >"$T/out" 2>&1 || fail "restored a damaged database"
expect "it is said: $(cat "$T/out")" grep -q "odd-n2.*page" "$T/out"
expect_equal "the data directory" "$(tree_of "$T/etcd-n1")" "$before"
before=$(tree_of "$T/etcd-n1/member")
mount --bind "$T/etcd-n1" "$T/etcd-n1"
restore n1 --yes --alone --skip-hash-check "$T/copy-n2" >"$T/done" 2>&1 || fail "not restored: $(cat "$T/done")"
expect_equal "the old data" "$(tree_of "$T"/etcd-n1/member.before-restore-*)" "$before"
etcd_start n1
export ETCD_AT=n1
wait_until 20 ctl_as_root get /registry/new
expect_equal "the key that was written last" "$(ctl_as_root get --print-value-only /registry/new)" x
expect_equal "members" "$(ctl_as_root member list | wc -l)" 1
stop_all

say "killed right behind the exchange: it says where the old data is, and how it comes back"
install -D -m 755 "$FAIRLEAD" "$T/odd/fairlead"
cat >"$T/odd/etcdwatch-worker" <<WORKER
#!/bin/sh
[ "\$2" = run ] || exec $BUILD/bin/etcdwatch-worker "\$@"
$BUILD/bin/etcdwatch-worker "\$@" >/dev/null
kill -KILL \$\$
WORKER
chmod +x "$T/odd/etcdwatch-worker"
before=$(tree_of "$T/etcd-n2")
for dir in etcd-n2 none; do
	! inside n2 env PATH="$ETCD_BIN:$PATH" "$T/odd/fairlead" etcd restore --yes --name n2 --data-dir "$T/$dir" \
		--manifests "$T/manifests" "$T/etcd.db" >"$T/out-$dir" 2>&1 || fail "it says that all is well"
	expect "there is a new one" test -e "$T/$dir/member/snap/db"
done
expect "the new place is said" grep -q "the new data is in $T/none, where there was none" "$T/out-none"
command=$(sed -n 's/.*the way back: move the new one away, and //p' "$T/out-etcd-n2")
rm -r "$T/etcd-n2"
eval "$command"
expect_equal "what came back" "$(tree_of "$T/etcd-n2")" "$before"
