#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# etcd: 3.5
# waits: for etcd to stop and to start
# The restore of a whole cluster, with etcd as a service, is killed at each step, when one node has done it
# and another has not, and a node is switched off and on in between: etcd never comes up by itself while
# its data is not settled, and --resume goes on to one new cluster. Before a member is started --back returns
# to the old one, with all its keys; afterwards it is refused.
. "$(dirname "$0")/lib/begin.sh"
FAIRLEAD_ETCD=3.5
VIP=
use world topology pki etcd docs
world_enter "$@"

ETCD_FROM=cl

node_prepare() { # NODE
	docs_etcd "$1" /etc/etcd/pki client
	cat >"$T/disk-$1/etc/fairlead/config.yaml" <<-YAML
		apiVersion: fairlead/v1
		kind: EtcdClientConfig
		endpoints: [https://127.0.0.1:2379]
		caFile: /etc/etcd/pki/ca.crt
		certFile: /etc/etcd/pki/client.crt
		keyFile: /etc/etcd/pki/client.key
	YAML
}

# The unit without its suffix, as systemctl takes it.
restore() { # ARGUMENT...
	docs-node "${ON:-cp-1}" fairlead -o json etcd restore --nodes cp-1,cp-2,cp-3 --unit etcd --yes "$@" >"$T/done" 2>"$T/steps"
}

show_steps() {
	echo "--- what the last command said"
	tail -n 20 "$T/steps"
}
ON_FAILURE+=(show_steps)

# Kills the command at that step, when cp-3 has done it: cp-2 has not begun with it, or goes on with it.
killed_at() { # before|after STEP ARGUMENT...
	local when=$1 step=$2 code
	shift 2
	rm -f "$T/hook-done"
	cat >"$T/hook" <<-HOOK
		#!/bin/bash
		# before|after NODE COMMAND PID
		if [[ -e $T/second-wanted && "\$1 \$2" == "before cp-2" && \$3 == *"vip status"* ]]; then
			rm "$T/second-wanted"
			SSH_HOOK= docs-node cp-3 fairlead etcd restore --nodes cp-1,cp-2,cp-3 --back --yes &>"$T/second" || true
		fi
		[[ \$3 == *"restore step $step "* ]] || exit 0
		if [[ "\$1 \$2" == "after cp-3" ]]; then
			touch "$T/hook-done"
			[[ $when == before ]] || kill -KILL "\$4"
		elif [[ "\$1 \$2 $when" == "before cp-2 before" ]]; then
			for ((i = 0; i < 600; i++)); do [[ ! -e $T/hook-done ]] || break; sleep 0.1; done
			kill -KILL "\$4"
			exit 1
		fi
	HOOK
	chmod +x "$T/hook"
	code=0
	SSH_HOOK=$T/hook restore "$@" || code=$?
	expect_equal "its end at '$step', which is to be by SIGKILL" "$code" 137
	wait_until 60 no_step_runs
}

# What was begun on the nodes ends by itself.
no_step_runs() {
	! pgrep -f 'etcd restore step' >/dev/null
}

phases() {
	local node
	for node in "${NODES[@]}"; do
		docs-node "$node" fairlead -o json etcd restore status | jq -r .phase
	done | paste -sd' '
}

etcd_runs() { # NODE
	service_runs "$1" etcd
}

service_runs() { # NODE SERVICE
	[[ -e $T/disk-$1/$2.pid ]] && kill -0 "$(<"$T/disk-$1/$2.pid")" 2>/dev/null
}

# Enabled, and not running: it has failed, or waits for its next start.
api_server_prepare() { # NODE
	local units=$T/disk-$1/etc/systemd/system
	mkdir -p "$units/multi-user.target.wants"
	printf '[Service]\nExecStart=sleep infinity\n' >"$units/kube-apiserver.service"
	ln -s ../kube-apiserver.service "$units/multi-user.target.wants/"
}

# Power is lost and comes back: what is enabled is started.
rebooted() { # NODE
	! etcd_runs "$1" || kill -KILL "$(<"$T/disk-$1/etcd.pid")"
	rm -f "$T/disk-$1/etcd.pid"
	docs-node "$1" systemctl start etcd kube-apiserver
}

keys() {
	ETCD_AT=cp-2 etcd_ctl get /registry/ --prefix --keys-only | grep -c .
}

# Refused until all members have been connected for five seconds.
add_member() {
	ETCD_AT=cp-1 etcd_ctl member add cp-4 --learner --peer-urls=https://10.86.0.14:2380 >"$T/added"
}

put() { # FIRST LAST
	local i
	for ((i = $1; i <= $2; i++)); do
		ETCD_AT=cp-1 etcd_ctl put "/registry/$i" "value $i" >/dev/null
	done
}

lan_up
pki_up
etcd_binaries
docs_nodes_up
for node in "${NODES[@]}"; do
	node_prepare "$node"
	api_server_prepare "$node"
	docs-node "$node" systemctl start etcd
done
wait_until 30 etcd_is_healthy
put 1 20
ETCD_AT=cp-1 etcd_ctl snapshot save "$T/disk-cp-1/root/snapshot.db" >/dev/null
put 21 25
ETCD_AT=cp-1 etcd_ctl snapshot save "$T/disk-cp-1/root/later.db" >/dev/null
old=$(etcd_cluster_id cp-1)

say "the plan is of cp-1 alone, and the cluster has two members more, which do not run now"
docs-node cp-2 systemctl stop etcd
docs-node cp-3 systemctl stop etcd
! docs-node cp-1 fairlead etcd restore --nodes cp-1 --yes --initial-cluster cp-1=https://10.86.0.11:2380 \
	/root/snapshot.db >"$T/out" 2>&1 || fail "cp-1 was restored as a second cluster"
expect "it says who would go on" grep -q "'cp-3' at https://10.86.0.13:2380 is in the present cluster and not in the plan" "$T/out"
expect "nothing was stopped" etcd_runs cp-1
mv "$T/disk-cp-2/var/lib/etcd/member/snap/db" "$T/db"
docs-node cp-1 fairlead etcd restore --nodes cp-1,cp-2,cp-3 --unit etcd /root/snapshot.db >"$T/out" 2>&1
expect "one without a database is named" grep -q "^  - cp-2 has no database of etcd that can be read" "$T/out"
expect_equal "such nodes" "$(grep -c "has no database of etcd that can be read" "$T/out")" 1
mv "$T/db" "$T/disk-cp-2/var/lib/etcd/member/snap/db"
docs-node cp-2 systemctl start etcd
docs-node cp-3 systemctl start etcd
wait_until 30 etcd_is_healthy

say "cp-2 knows no endpoint that is its own member"
sed -i 's/127.0.0.1:2379/10.86.0.11:2379/' "$T/disk-cp-2/etc/fairlead/config.yaml"
! restore /root/snapshot.db || fail "cp-2 was prepared, and its member cannot be checked"
expect "it says what to do" grep -q "add this node's own endpoint" "$T/steps"
sed -i 's/10.86.0.11:2379/127.0.0.1:2379/' "$T/disk-cp-2/etc/fairlead/config.yaml"
restore --back || fail "no way back: $(cat "$T/steps")"
mv "$T/disk-cp-2/etcd.pid" "$T/etcd.pid"
! restore /root/snapshot.db || fail "cp-2 was prepared, and systemd cannot stop its etcd"
expect "it says of which unit" grep -q "the unit 'etcd.service' does not run it" "$T/steps"
mv "$T/etcd.pid" "$T/disk-cp-2/etcd.pid"
restore --back || fail "no way back: $(cat "$T/steps")"

say "killed while it prepares: etcd runs on, and another restore is refused"
# A token of an operator says nothing of the plan that it is of.
killed_at before prepare --token mine /root/snapshot.db
expect "the old cluster is healthy" etcd_is_healthy
! restore /root/snapshot.db || fail "another restore was not refused"
expect "it says of which" grep -q "the restore 'mine' is under way there ('prepared')" "$T/steps"
! docs-node cp-3 fairlead etcd restore /root/snapshot.db >"$T/out" 2>&1 || fail "another one of cp-3 alone was not refused"
expect "nor of one node" grep -q "is under way on this node" "$T/out"
! docs-node cp-3 fairlead etcd restore step stop --token other >"$T/out" 2>&1 || fail "another token was not refused"
expect "its token counts" grep -q "not of 'other'" "$T/out"
before=$(phases)
! restore --resume /root/later.db || fail "resumed with another snapshot"
expect "it says so" grep -q "prepared there from another snapshot" "$T/steps"
! restore --token mine /root/later.db || fail "prepared from two snapshots"
expect "it says where" grep -q "prepared there from another snapshot" "$T/steps"
expect_equal "phases" "$(phases)" "$before"
! restore --resume || fail "resumed without the snapshot"
expect "it says what it needs" grep -q "repeat the command with the snapshot and --resume" "$T/steps"

say "back, from where some are stopped and some are not"
killed_at before stop --resume /root/snapshot.db
expect "cp-3 is stopped" eval '! etcd_runs cp-3'
touch "$T/disk-cp-2/drop-ins-unread"
! restore --resume || fail "cp-2 was stopped, and cannot be held"
expect "it says why" grep -q "systemd does not read '.*kube-apiserver.service.d/.*'" "$T/steps"
expect "cp-2 is not stopped" etcd_runs cp-2
rm "$T/disk-cp-2/drop-ins-unread"
restore --back || fail "no way back: $(cat "$T/steps")"
wait_until 30 etcd_is_healthy
expect_equal "phases" "$(phases)" "none none none"
expect_equal "the cluster" "$(etcd_cluster_id cp-1)" "$old"
expect_equal "keys" "$(keys)" 25
expect_equal "what is left on cp-3" "$(ls "$T/disk-cp-3/var/lib")" "$(printf 'etcd\nfairlead')"

say "back, from where a member has joined since all were prepared"
killed_at after prepare /root/snapshot.db
wait_until 20 add_member
! restore --resume || fail "exchanged, although a member has joined"
expect "it says of which" grep -q "at https://10.86.0.14:2380 is in the present cluster.*--back returns" "$T/steps"
restore --back || fail "no way back: $(cat "$T/steps")"
wait_until 30 etcd_is_healthy
ETCD_AT=cp-1 etcd_ctl member remove "$(sed -n 's/^Member *\([0-9a-f]*\) added.*/\1/p' "$T/added")" >/dev/null

say "back, from where all are exchanged"
killed_at after exchange /root/snapshot.db
expect "cp-3 is exchanged" eval '[[ $(phases) == *" exchanged" ]]'
expect "old etcd is held" eval 'rebooted cp-2; ! etcd_runs cp-2'
! restore --resume --back || fail "both ways at once"
! ON=cp-3 restore --back || fail "cp-3 went back with a claim of cp-1 on all nodes"
expect "it says whose and what to do" grep -Eq "@cp-1 works on the restore of this node since 20.*--take-over" "$T/steps"
ON=cp-3 killed_at before return --back --take-over
! restore --back || fail "cp-1 went on after cp-3 took over"
! restore --resume || fail "resumed a restore that goes back"
expect "it says so" grep -q "already going back" "$T/steps"
killed_at after revive --back --take-over
restore --back || fail "no way back: $(cat "$T/steps")"
wait_until 30 etcd_is_healthy
expect_equal "phases" "$(phases)" "none none none"
expect_equal "the cluster" "$(etcd_cluster_id cp-1)" "$old"
expect_equal "keys" "$(keys)" 25

say "killed at each step, and a node loses its power"
killed_at after prepare /root/snapshot.db
killed_at after stop --resume
expect "no etcd runs" eval '! etcd_runs cp-1 && ! etcd_runs cp-2 && ! etcd_runs cp-3'
rebooted cp-3
expect "cp-3 is held" eval '! etcd_runs cp-3 && ! service_runs cp-3 kube-apiserver'
killed_at before exchange --resume
rebooted cp-2
expect "cp-2 is held" eval '! etcd_runs cp-2'
touch "$T/second-wanted"
killed_at before start --resume
expect "another operator could not go back meanwhile" grep -q "@cp-1 works on the restore" "$T/second"
expect "cp-3 is started, cp-2 is not" eval '[[ $(phases) == *" exchanged started" ]]'
rebooted cp-2
expect "cp-2 is held" eval '! etcd_runs cp-2'
! restore --back || fail "went back, although cp-3 has started"
expect "it says why" grep -q "there is no way back" "$T/steps"
killed_at before finish --resume
rebooted cp-2
expect "the new etcd comes up by itself" etcd_runs cp-2
expect "its API server is held until all members are healthy" eval '! service_runs cp-2 kube-apiserver'
# As if its start had been interrupted when the phase was written.
kill -KILL "$(<"$T/disk-cp-2/etcd.pid")"
restore --resume || fail "not resumed: $(cat "$T/steps")"
expect_equal "phases" "$(phases)" "done done done"
wait_until 30 etcd_is_healthy
for node in "${NODES[@]}"; do
	expect_equal "the cluster of $node" "$(etcd_cluster_id "$node")" "$(jq -r 'select(.result).result.cluster_id' "$T/done")"
	expect "the API server of $node runs" service_runs "$node" kube-apiserver
	expect "nothing holds a service of $node" eval '! compgen -G "$T/disk-$node/etc/systemd/system/*.d/90-fairlead*" && ! compgen -G "$T/disk-$node/var/lib/fairlead/restore/hold*"'
done
expect_equal "keys" "$(keys)" 20
restore --resume || fail "not repeated: $(cat "$T/steps")"
expect "no claim is left" eval '! compgen -G "$T/disk-*/var/lib/fairlead/restore/claim.json"'
token=$(docs-node cp-3 fairlead -o json etcd restore status | jq -r .token)
! restore --token "$token" /root/snapshot.db || fail "a token was used again"
expect "it says so" grep -q "done already on all nodes" "$T/steps"
