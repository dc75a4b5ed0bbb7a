#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One folder of files for all daemons. `fairlead config validate` tells what each of them finds wrong,
# every error once and in the order of the files, also where nobody can tell whose a document is, and
# says what a program would have to read that is not installed. `fairlead config convert` makes documents of a
# machine configuration that the daemons read as they read that one. `fairlead config print` prints what reads
# back as itself, for every file of the corpus that all of them accept.
. "$(dirname "$0")/lib/begin.sh"
use world
world_enter "$@"

validate() { # CODE ARGUMENT...: its output is in $T/out and $T/err
	local want=$1 code=0
	shift
	"$FAIRLEAD" config validate "$@" >"$T/out" 2>"$T/err" || code=$?
	expect_equal "exit code of validate $*" "$code" "$want"
}

mkdir "$T/conf.d"
cat >"$T/conf.d/10-net.yaml" <<-'EOF'
	apiVersion: v1alpha1
	kind: LinkConfig
	name: eth0
	mtu: 1
EOF
cat >"$T/conf.d/20-rest.yaml" <<-'EOF'
	apiVersion: v1alpha1
	kind: Layer2VIPConfig
	name: 10.0.0.5
	---
	apiVersion: fairlead/v1
	kind: EtcdSnapshotConfig
	name: nightly
	schedule: never
	---
	apiVersion: fairlead/v1
	kind: PrismConfig
	whenDown: rest
	---
	apiVersion: fairlead/v1
	kind: EtcdClientConfig
	endpoint: x
	---
	apiVersion: fairlead/v1
	kind: PrismConfg
	---
	apiVersion: v1alpha1
	kind: KubeletConfig
EOF

say "where there is nothing at all, it says so"
unshare --mount --propagation private sh -c '
	mount -t tmpfs tmpfs /etc && "$1" config validate' sh "$FAIRLEAD" >"$T/out" 2>"$T/err" && fail "it is right"
grep -q '^there is no configuration: neither /etc/fairlead/config.yaml nor ' "$T/err" || fail "says: $(cat "$T/err")"

say "of a file that nobody has named, it says whose idea it is"
printf 'apiVersion: v1alpha1\nkind: Layer2VIPConfig\nname: 10.0.0.5\nlink: eth0\n' >"$T/vip.yaml"
unshare --mount --propagation private sh -c '
	mount -t tmpfs tmpfs /etc && "$1" config validate "$2"' sh "$FAIRLEAD" "$T/vip.yaml" >"$T/out" 2>"$T/err" &&
	fail "it is right"
grep -q '^EtcdClientConfig: .*/ca.crt: .* (the default, as kubeadm has it; ' "$T/err" || fail "says: $(cat "$T/err")"

say "every error of every daemon, once"
validate 1 "$T/conf.d"
cut -d: -f1,2 "$T/err" | sed "s|$T/conf.d/||" >"$T/places"
expect_equal "places" "$(tr '\n' ' ' <"$T/places")" \
	"10-net.yaml:4 20-rest.yaml:1 20-rest.yaml:8 20-rest.yaml:12 20-rest.yaml:16 20-rest.yaml:19 "
grep -q "kind: 'PrismConfg' (did you mean 'PrismConfig'?)" "$T/err" || fail "no hint"
validate 1 -o json "$T/conf.d"
expect_equal "as JSON" "$(jq -r 'select(.severity == "error") | .line' "$T/out" | tr '\n' ' ')" "4 1 8 12 16 19 "
expect_equal "whose" "$(jq -r 'select(.line == 8) | .program' "$T/out")" etcdwatch
expect_equal "on standard error" "$(cat "$T/err")" ''

say "right, for who has something in it"
cat >"$T/good.yaml" <<-'EOF'
	apiVersion: fairlead/v1
	kind: PrismConfig
	upstreams: {static: [10.0.0.1]}
	healthCheck: {enabled: false}
	---
	apiVersion: v1alpha1
	kind: KubeletConfig
EOF
validate 0 "$T/good.yaml"
grep -q '^prism: listens on ' "$T/out" || fail "nothing of prism: $(cat "$T/out")"
grep -q "^note: $T/good.yaml:6: KubeletConfig: nothing of fairlead reads this$" "$T/out" ||
	fail "nothing of what is nobody's: $(cat "$T/out")"
validate 1 "$T/none.yaml"
: >"$T/empty.yaml"
validate 0 "$T/empty.yaml"

say "a program that is not installed"
mkdir "$T/bin"
cp "$BUILD/bin/fairlead" "$BUILD/bin/netconf" "$T/bin"
FAIRLEAD=$T/bin/fairlead validate 5 "$T/good.yaml"
expect_equal "what it says" "$(cat "$T/err")" "warning: $T/good.yaml:1: PrismConfig: prism, which is not \
installed beside this program, reads it: not checked"
! "$T/bin/fairlead" config print "$T/good.yaml" >"$T/out" 2>"$T/err" || fail "printed without prism"
expect_equal "what is printed" "$(cat "$T/out")" ''

say "the older style becomes documents that all read the same"
cat >"$T/machine.yaml" <<-'EOF'
	version: v1alpha1
	machine:
	  type: controlplane
	  token: do-not-print-me
	  features: {kubePrism: {enabled: true}, rbac: true}
	  network:
	    hostname: cp-1
	    interfaces:
	      - interface: eth0
	        addresses: [10.0.0.2/24]
	        vip: {ip: 10.0.0.5}
	        vlans:
	          - vlanId: 5
	            vip: {ip: 10.0.5.5}
	cluster:
	  controlPlane: {endpoint: "https://10.0.0.5:6443", localAPIServerPort: 6444}
	  id: x
	---
	# why
	apiVersion: fairlead/v1
	kind: VIPPolicyConfig
	priority: 150 # more
	--- {apiVersion: fairlead/v1, kind: NodeConfig, name: cp-1}
	---
	apiVersion: v1alpha1
	kind: KubeletConfig
EOF
"$FAIRLEAD" config convert "$T/machine.yaml" >"$T/new.yaml" 2>"$T/err"
! grep -qE '^machine:|^cluster:|do-not-print-me|Kubelet' "$T/new.yaml" || fail "left: $(cat "$T/new.yaml")"
grep -q '^priority: 150 # more$' "$T/new.yaml" && grep -q '^# why$' "$T/new.yaml" || fail "not as it was"
grep -q ': machine.type, machine.token, cluster.id: nothing of fairlead reads this: left out$' "$T/err" &&
	grep -q ': KubeletConfig: nothing of fairlead reads this: left out$' "$T/err" ||
	fail "not said: $(cat "$T/err")"
for daemon in vipd prism netconf; do
	"$BUILD/bin/$daemon" --print --config="$T/machine.yaml" >"$T/first"
	"$BUILD/bin/$daemon" --print --config="$T/new.yaml" >"$T/second"
	cmp "$T/first" "$T/second" || fail "$daemon: not the same: $(diff "$T/first" "$T/second")"
done
"$FAIRLEAD" config convert "$T/new.yaml" >"$T/again.yaml"
"$FAIRLEAD" config print "$T/new.yaml" >"$T/first"
"$FAIRLEAD" config print "$T/again.yaml" >"$T/second"
cmp "$T/first" "$T/second" || fail "once more it is another: $(diff "$T/first" "$T/second")"

say "what is printed prints the same"
# Each daemon does so with all of its corpus in its unit tests; here are enough of them, from all.
n=0
files=("$ROOT"/tests/config/*/good/*.yaml)
for ((i = 0; i < ${#files[@]}; i += 3)); do
	file=${files[i]}
	# Some hold what another daemon refuses, or want files that are not on every machine.
	"$FAIRLEAD" config print "$file" >"$T/first" 2>/dev/null || continue
	"$FAIRLEAD" config print "$T/first" >"$T/second" 2>"$T/err" || fail "$file: $(cat "$T/err")"
	cmp "$T/first" "$T/second" || fail "$file: not the same: $(diff "$T/first" "$T/second")"
	! grep -q do-not-print-me "$T/first" || fail "$file: a secret"
	n=$((n + 1))
done
[[ $n -gt 30 ]] || fail "only $n files"
say "done: $n files"
