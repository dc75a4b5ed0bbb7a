# SPDX-License-Identifier: Apache-2.0
# The command line, which asks a daemon, reads configurations, and writes files. What it says that it has
# done is done; what it prints is whole where it ends well.
PROGRAM=fairlead
use netconf

path_begin() {
	node_new
	mkdir -p "$T/run-n1" "$T/files"
	printf 'apiVersion: fairlead/v1\nkind: NodeConfig\nname: n1\n' >"$T/files/node.yaml"
	config_write good <<-'YAML'
		apiVersion: v1alpha1
		kind: LinkConfig
		name: eth0
		addresses:
		  - address: 10.1.0.1/24
	YAML
	netconf_start
	mkdir -p "$T/right"
	all_commands "$T/right" "$BUILD/bin/fairlead" || fail "the commands do not work"
}

# Each one's output is a file in the directory, and an error of it is told.
all_commands() { # DIRECTORY PROGRAM
	local n=0 words code bad=0
	while read -r words; do
		n=$((n + 1))
		code=0
		# shellcheck disable=SC2086
		inside n1 timeout 60 env "${FAULT[@]}" "$2" --runtime-dir "$T/run-n1" $words \
			>"$1/$n.out" 2>"$1/$n.log" </dev/null || code=$?
		[[ $code -ne 0 ]] || [[ $1 == "$T/right" ]] || same_answer "$1/$n.out" "$T/right/$n.out" ||
			lie "'$words' ended well and did not say all"
		cat "$1/$n.log" >>"$LOG_DIR/fairlead.log"
		[[ $code -le 4 ]] || ended_well fairlead "$code"
		[[ $code -eq 0 ]] || bad=1
		[[ $code -eq 0 || -s $1/$n.log ]] || lie "'$words' ended with $code and did not say why"
	done <<-WORDS
		-o json net status
		net status
		net plan $T/good.yaml
		net validate $T/good.yaml
		config print $T/good.yaml
		config validate $T/good.yaml
		etcd snapshot status $ROOT/tests/bolt/etcd-3.5.db
		etcd snapshot usage $ROOT/tests/bolt/etcd-3.5.db
		completion bash
	WORDS
	return $bad
}

# But for what time does to it.
same_answer() { # FILE RIGHT
	diff <(sed 's/[0-9]//g' "$1") <(sed 's/[0-9]//g' "$2") >>"$LOG_DIR/differences"
}

path_walk() {
	mkdir -p "$LOG_DIR/out"
	all_commands "$LOG_DIR/out" "$PROGRAMS/fairlead" || true
}

path_again() {
	mkdir -p "$LOG_DIR/again"
	all_commands "$LOG_DIR/again" "$BUILD/bin/fairlead" || fail "the commands do not work"
}
