#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `fairlead init` on nodes of every kind: what it writes, each daemon that it is for finds right. On a
# running node it finds the link and who answers for the address, and replaces no file unasked.
# waits: for answers of addresses that nobody has
. "$(dirname "$0")/lib-netconf.sh"

CASES=$ROOT/tests/config/init
node_new

# The node of a case, in which the daemons find its files where they belong. Keys are not among the
# cases' files: where one belongs, it is put there with its certificate.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=client -days 30 \
	-keyout "$T/key" -out "$T/certificate" 2>"$LOG_DIR/openssl.log"
enter() { # CASE
	local key
	rm -rf "$T/node/etc" "$T/node/var"
	mkdir -p "$T/node"/{usr,build,dev,proc,lib,lib64}
	cp -r "$CASES/$1"/root/etc "$T/node"
	[[ ! -e $CASES/$1/root/var ]] || cp -r "$CASES/$1"/root/var "$T/node"
	mountpoint -q "$T/node/usr" || {
		mount --bind /usr "$T/node/usr"
		mount --bind "$BUILD/bin" "$T/node/build"
		mount --bind /dev "$T/node/dev"
		mount --bind /proc "$T/node/proc"
		mount --bind /usr/lib "$T/node/lib"
		mount --bind /usr/lib64 "$T/node/lib64"
	}
	for key in $(sed -n 's/^ *[a-zA-Z]*[kK]eyFile: //p' "$CASES/$1/expected.yaml") \
		/etc/kubernetes/pki/etcd/healthcheck-client.key; do
		mkdir -p "$T/node$(dirname "$key")"
		cp "$T/key" "$T/node$key"
		cp "$T/certificate" "$T/node${key%.key}.crt"
	done
	# Where kubeadm is still to come, it has come.
	cp -n "$T/certificate" "$T/node/etc/kubernetes/pki/etcd/ca.crt"
	cp -n "$T/certificate" "$T/node/etc/kubernetes/pki/ca.crt"
}

checks() { # PROGRAM FILE: in the node that was entered
	cp "$2" "$T/node/etc/config.yaml"
	chroot "$T/node" "/build/$1" --check --config /etc/config.yaml >"$T/checked" 2>&1 ||
		fail "$1 refuses $2: $(cat "$T/checked")"
}

say "every configuration that it makes of a kind of node is right"
n=0
for file in "$CASES"/*/expected.yaml; do
	grep -q '^kind: ' "$file" || continue # only errors
	enter "$(basename "$(dirname "$file")")"
	! grep -q '^kind: Layer2VIPConfig' "$file" || checks vipd "$file"
	! grep -q '^kind: PrismConfig' "$file" || checks prism "$file"
	! grep -q '^kind: EtcdSnapshotConfig' "$file" || checks etcdwatch "$file"
	checks netconf "$file"
	n=$((n + 1))
done
[[ $n -ge 12 ]] || fail "only $n of them"

say "what it leaves as comments is right without the #"
for file in "$CASES"/{kubeadm-rivals,nothing-role}/expected.yaml; do
	enter "$(basename "$(dirname "$file")")"
	sed -n '/^#apiVersion: v1alpha1/,/^$/{s/^#//;s/ADDRESS/10.0.0.6/;p}' "$file" >"$T/uncommented.yaml"
	checks vipd "$T/uncommented.yaml"
done
for file in "$CASES"/{k3s,etcd-tls}/expected.yaml; do
	enter "$(basename "$(dirname "$file")")"
	sed -n '/^#kind: PrismConfig/,/^$/{s/^#//;p}' "$file" | sed '1i apiVersion: fairlead/v1' >"$T/uncommented.yaml"
	checks prism "$T/uncommented.yaml"
done

init() { # ARGUMENT...: in the node; code in $code
	code=0
	inside n1 "$BUILD/bin/fairlead" init --role control-plane --file "$T/config.yaml" "$@" \
		>"$T/out" 2>"$T/err" || code=$?
}

say "a running node: the link is found by the network of the address"
ip -n n1 address add 10.1.0.1/24 dev eth0
ip -n n1 address add 10.2.0.1/24 dev eth1
ip -n n1 route add default via 10.1.0.254 dev eth0
init --vip 10.1.0.100
[[ $code -eq 0 ]] || fail "exit code $code: $(cat "$T/err")"
grep -q '^link: eth0$' "$T/config.yaml" || fail "no link: $(cat "$T/config.yaml")"
! grep -q 'a host answers' "$T/err" || fail "nobody has it: $(cat "$T/err")"
[[ $(stat -c %a "$T/config.yaml") == 644 ]] || fail "mode $(stat -c %a "$T/config.yaml")"
init --vip 10.1.0.100
[[ $code -eq 0 && $(cat "$T/out") == *"is as it would be written" ]] || fail "the same twice: $code $(cat "$T/out")"

say "another file stays, and the difference is shown"
cp "$T/config.yaml" "$T/before"
init --vip 10.1.0.101
[[ $code -eq 1 ]] || fail "exit code $code"
cmp "$T/config.yaml" "$T/before"
grep -q '^+name: "10.1.0.101"' "$T/out" || fail "no difference: $(cat "$T/out")"
grep -q -- '--force' "$T/err" || fail "does not say how: $(cat "$T/err")"
init --vip 10.1.0.101 --force
[[ $code -eq 1 ]] || fail "exit code $code"
cmp "$T/config.yaml" "$T/before"
grep -q 'has the VIP 10.1.0.100, which would be gone' "$T/err" || fail "drops a VIP: $(cat "$T/err")"
sed -i 's/10\.1\.0\.100/10.1.0.101/g; $a # mine' "$T/config.yaml"
init --vip 10.1.0.101 --force
[[ $code -eq 0 ]] || fail "exit code $code: $(cat "$T/err")"
grep -q '^name: "10.1.0.101"' "$T/config.yaml" && ! grep -q '^# mine' "$T/config.yaml" || fail "was not replaced"

say "an address that a host answers for is refused without --force"
mac=$(ip -n n1 -json link show eth0 | jq -r '.[0].address')
ip -n sw address add 10.1.0.200/24 dev leg0
rm "$T/config.yaml"
init --vip 10.1.0.200
[[ $code -eq 1 && ! -e $T/config.yaml ]] || fail "exit code $code: $(cat "$T/err")"
grep -q -- "--vip 10.1.0.200: a host answers for it already ($(ip -n sw -json link show leg0 | jq -r '.[0].address'))" "$T/err" ||
	fail "not told: $(cat "$T/err")"
! grep -q "$mac" "$T/err" || fail "that is its own: $(cat "$T/err")"
init --vip 10.1.0.200 --force
[[ $code -eq 0 ]] || fail "exit code $code: $(cat "$T/err")"
grep -q 'a host answers for 10.1.0.200 already' "$T/err" || fail "not told: $(cat "$T/err")"
sed -i '$a # mine' "$T/config.yaml"
init --vip 10.1.0.200 # vipd may have it in service
grep -q 'is there already, and stays' "$T/err" || fail "says: $(cat "$T/err")"

say "its own address is none"
rm "$T/config.yaml"
init --vip 10.1.0.1
[[ $code -eq 1 && ! -e $T/config.yaml ]] || fail "exit code $code"
grep -q "the node's own address, on eth0" "$T/err" || fail "says: $(cat "$T/err")"

say "the network as it is, with a plan that is empty"
ip -n n1 route add 10.9.0.0/16 via 10.2.0.254 dev eth1 metric 50 table 100
ip -n n1 rule add from 10.9.0.0/16 table 100 priority 100
ip -n n1 -6 address add fd01::1/64 dev eth0
ip -n n1 address add 10.1.0.100/32 dev eth0 valid_lft 1000 preferred_lft 0
ip -n n1 link add cali1 type veth peer name pod1 netns sw
ip -n n1 address add 10.244.0.1/24 dev cali1
init --vip 10.1.0.101 --network --force
[[ $code -eq 0 ]] || fail "exit code $code: $(cat "$T/err")"
grep -q 'kind: LinkConfig' "$T/config.yaml" && grep -q '10.9.0.0/16' "$T/config.yaml" || fail "no network: $(cat "$T/config.yaml")"
! grep -q 'cali1' "$T/config.yaml" || fail "the CNI's link is described"
grep -q '^# left out: 10.1.0.100/32' "$T/config.yaml" || fail "the VIP is not left out"
netconf --state-dir "$T/state" --plan --config "$T/config.yaml" --json >"$T/plan"
[[ $(jq -s '[.[-1].steps, (map(select(.obstacle)) | length)] | add' "$T/plan") == 0 ]] ||
	fail "the plan is not empty: $(cat "$T/plan")"
grep -q 'kind: RoutingRuleConfig' "$T/config.yaml" || fail "no rule: $(cat "$T/config.yaml")"
