#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `fairlead --nodes` by real ssh: an operator on n1 asks three nodes, each with an sshd in its network
# namespace. Then nodes fail in the ways that ssh has: an unknown and a changed host key, a key that is
# refused, a node without fairlead, one that is cut off in the middle of its answer. Each is a row that
# says so, and the answers of the others are there.
# waits: for ssh to give up a node that is cut off
. "$(dirname "$0")/lib-etcdwatch.sh"

EW_SCHEDULE="0 0 1 1 *"
SSH=$T/ssh

sshd_prepare() {
	local node
	mkdir -p "$SSH" /run/sshd "$T/xdg" "$T/bare"
	# Of the machine that runs this story, no file of ssh takes part.
	[[ ! -d /root/.ssh ]] || mount -t tmpfs tmpfs /root/.ssh
	for node in "${NODES[@]}"; do
		echo "$(mgmt_ip "$node") $node"
		ssh-keygen -q -t ed25519 -N '' -f "$SSH/host-$node" >&2
	done >"$SSH/hosts"
	mount --bind "$SSH/hosts" /etc/hosts
	ssh-keygen -q -t ed25519 -N '' -f "$SSH/operator"
	cp "$SSH/operator.pub" "$SSH/authorized"
	# sshd lets no user in whose password is locked by '!'.
	sed 's/^root:[^:]*/root:*/' /etc/shadow >"$SSH/shadow"
	mount --bind "$SSH/shadow" /etc/shadow
	# The operator's configuration applies, but for what it would lend to a node.
	cat >"$SSH/config" <<-CONF
		Host *
		  User root
		  IdentityFile $SSH/operator
		  UserKnownHostsFile $SSH/known
		  GlobalKnownHostsFile none
		  ForwardAgent yes
		  RequestTTY force
	CONF
	mount --bind "$SSH/config" /etc/ssh/ssh_config
	ln -s /bin/sh "$T/bare/sh"
	for node in "${NODES[@]}"; do
		mkdir "$T/there-$node"
		printf '#!/bin/sh\nenv >%s\nexec %s "$@"\n' "$T/env-$node" "$BUILD/bin/fairlead" >"$T/there-$node/fairlead"
		chmod 755 "$T/there-$node/fairlead"
	done
}

# PATH is that of a command that comes by ssh.
sshd_start() { # NODE [PATH]
	cat >"$SSH/sshd-$1" <<-CONF
		ListenAddress $(mgmt_ip "$1")
		HostKey $SSH/host-$1
		AuthorizedKeysFile $SSH/authorized
		StrictModes no
		UsePAM no
		PasswordAuthentication no
		KbdInteractiveAuthentication no
		PidFile none
		SetEnv PATH=${2:-$T/there-$1:/usr/bin:/bin} FAIRLEAD_RUNTIME_DIR=$T/run-$1
	CONF
	spawn "sshd-$1" "$1" /usr/sbin/sshd -D -e -f "$SSH/sshd-$1"
	wait_until 5 sshd_listens "$1"
}

# Its sessions are processes of their own, and the operator's control connections end with them.
sshd_stop() { # NODE
	kill_hard "sshd-$1"
	rm -f "$T"/xdg/fairlead-ssh-*/*
}

sshd_listens() { # NODE
	inside n1 bash -c "exec 3<>/dev/tcp/$(mgmt_ip "$1")/22" 2>/dev/null
}

know_host() { # NODE
	echo "$1 $(cut -d' ' -f1,2 "$SSH/host-$1.pub")" >>"$SSH/known"
}

operator() { # ARGUMENT...: of fairlead; its code in $code, its output in $T/out
	code=0
	# shellcheck disable=SC2086
	inside n1 env HOME="$T" XDG_RUNTIME_DIR="$T/xdg" FAIRLEAD_RUNTIME_DIR="$T/run-n1" \
		SSH_AUTH_SOCK="$T/agent" $WRAP "$FAIRLEAD" "$@" >"$T/out" 2>"$T/err" || code=$?
	expect_equal "what is said of $*" "$(cat "$T/err")" ""
}

# What became of each node: "n1 0.1.0, n2 denied"
answers() {
	jq -r '"\(.node) \(.outcome // .version // .status)"' "$T/out" | paste -sd, | sed 's/,/, /g'
}

error_of() { # NODE
	jq -r "select(.node == \"$1\").error" "$T/out"
}

cluster_of_etcd
sshd_prepare
etcdwatch_start "${NODES[@]}"
for node in "${NODES[@]}"; do
	sshd_start "$node"
	know_host "$node"
done
eval "$(ssh-agent -a "$T/agent")" >/dev/null
VERSION=$("$FAIRLEAD" version | cut -d' ' -f2)

say "all nodes, as etcd has them"
knows_all() {
	[[ $(fairlead n1 -o json etcd members | jq -s 'map(select(.members)) | length') -eq 3 ]]
}
wait_until 20 knows_all
operator --nodes all -o json version
expect_equal code "$code" 0
expect_equal answers "$(answers)" "n1 $VERSION, n2 $VERSION, n3 $VERSION"
expect_equal "control sockets" "$(find "$T"/xdg/fairlead-ssh-0 -type s | wc -l)" 3
expect_equal "mode of their folder" "$(stat -c %a "$T/xdg/fairlead-ssh-0")" 700
! grep -q '^SSH_AUTH_SOCK=' "$T/env-n2" || fail "the agent was forwarded to n2"

say "each says what its own daemons know"
kill_hard etcdwatch-n2
operator --nodes n3,n2 etcd members
expect_equal code "$code" 3
grep -q '^== n3 ==$' "$T/out" || fail "no section of n3: $(cat "$T/out")"
grep -q '^n2  *exit 3  *etcdwatch does not answer on .*/run-n2/' "$T/out" || fail "no row of n2: $(cat "$T/out")"
operator --nodes n1,n3 -o json etcd members
expect_equal code "$code" 0
expect_equal nodes "$(jq -r .node "$T/out" | uniq -c | tr -s ' \n' ' ')" " 3 n1 3 n3 "

say "a group, and another way than ssh"
mkdir -p "$T/.config/fairlead"
echo 'west: n3 n2' >"$T/.config/fairlead/nodes"
operator --nodes west --via "ip netns exec {} env PATH=$BUILD/bin" -o json version
expect_equal answers "$(answers)" "n3 $VERSION, n2 $VERSION"

say "keys: one that has changed, one that is not known, one that is refused"
sshd_stop n2
rm "$SSH/host-n2" "$SSH/host-n2.pub"
ssh-keygen -q -t ed25519 -N '' -f "$SSH/host-n2"
sshd_start n2
sed -i '/^n3 /d' "$SSH/known"
sshd_stop n3
sshd_start n3
operator --nodes all -o json version
expect_equal code "$code" 4
expect_equal answers "$(answers)" "n1 $VERSION, n2 denied, n3 denied"
[[ $(error_of n2) == "its host key is not the one that ssh knows"* ]] || fail "n2: $(error_of n2)"
[[ $(error_of n3) == "ssh does not know its host key"* ]] || fail "n3: $(error_of n3)"
sed -i '/^n2 /d' "$SSH/known"
know_host n2
know_host n3
sshd_stop n3
sed -i "s|^AuthorizedKeysFile.*|AuthorizedKeysFile none|" "$SSH/sshd-n3"
spawn sshd-n3 n3 /usr/sbin/sshd -D -e -f "$SSH/sshd-n3"
wait_until 5 sshd_listens n3
operator --nodes n2,n3 -o json version
expect_equal code "$code" 4
expect_equal answers "$(answers)" "n2 $VERSION, n3 denied"
[[ $(error_of n3) == *"Permission denied (publickey)"* ]] || fail "n3: $(error_of n3)"

say "one has no fairlead, one is down"
sshd_stop n3
sshd_stop n2
sshd_start n2 "$T/bare"
operator --nodes all -o json version
expect_equal code "$code" 3
expect_equal answers "$(answers)" "n1 $VERSION, n2 no-program, n3 unreachable"
[[ $(error_of n3) == *"Connection refused"* ]] || fail "n3: $(error_of n3)"

say "one is cut off in the middle of its answer"
sshd_start n3
# shellcheck disable=SC2016
printf '#!/bin/sh\necho '\''{"version":"half"}'\''\n: >%s\nexec sleep 300\n' "$T/in-the-middle" >"$T/there-n3/fairlead"
cut_off() {
	wait_until 20 test -e "$T/in-the-middle"
	mgmt_drop n3 both
}
cut_off &
began_cs=$(now_cs)
operator --nodes n1,n3 -o json version
wait $! || fail "n3 was not cut off"
took_cs=$(($(now_cs) - began_cs))
expect_equal code "$code" 3
expect_equal answers "$(answers)" "n1 $VERSION, n3 half, n3 unreachable"
[[ $took_cs -lt 2900 ]] || fail "it took $((took_cs / 100)) s: ssh did not notice"
