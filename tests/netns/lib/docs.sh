# SPDX-License-Identifier: Apache-2.0
# Pages of docs/ as scripts. A block that names nodes behind its language (```sh cp-1) is run there, as
# the operator would: in the node's network, with the node's own /etc, /var/lib, /root and /run/fairlead,
# and with the programs that were built. Addresses of the pages are those of the world's LAN.
#
# Of systemd there is only what starts and stops: services are processes of this world.

NODES=(cp-1 cp-2 cp-3)
NUMBER+=([cp-1]=11 [cp-2]=12 [cp-3]=13)
DOCS_FOLDERS=(etc var/lib root run/fairlead)

# What the pages call 10.0.0.x.
docs_text() {
	sed -E 's/\b10\.0\.0\.([0-9]+)/10.86.0.\1/g'
}

docs_nodes_up() {
	local node folder daemon
	mkdir -p "$T/bin"
	install -m 755 "$NETNS_DIR/lib/docs-systemctl" "$T/bin/systemctl"
	install -m 755 "$NETNS_DIR/lib/docs-ssh" "$T/bin/ssh"
	install -m 755 "$NETNS_DIR/lib/docs-node" "$T/bin/docs-node"
	export T ETCD_BIN FOLDERS="${DOCS_FOLDERS[*]}" PATH="$T/bin:$BUILD/bin:$ETCD_BIN:$PATH"
	printf '%s\n' '#!/bin/bash' '# scp -q FILE... NODE:FOLDER' 'to=${*: -1}' \
		'exec cp "${@:2:$#-2}" "${DISK%/*}/disk-${to%%:*}/${to#*:}"' >"$T/bin/scp"
	chmod 755 "$T/bin/scp"
	for node in "${NODES[@]}"; do
		for folder in "${DOCS_FOLDERS[@]}"; do
			mkdir -p "$T/disk-$node/$folder"
		done
		cp -a /etc/. "$T/disk-$node/etc/"
		rm -rf "$T/disk-$node/etc/fairlead" "$T/disk-$node/etc/kubernetes"
		mkdir -p "$T/disk-$node/etc/fairlead"
		mgmt_ip "$node" >"$T/disk-$node/address"
		# As tmpfiles.d has them.
		for daemon in vipd prism etcdwatch netconf; do
			ln -s "$daemon/$daemon.sock" "$T/disk-$node/run/fairlead/$daemon.sock"
		done
	done
}

# One network for all, as the pages have it.
mgmt_ip() { # NODE
	echo "10.86.0.${NUMBER[$1]}"
}

# How etcd is to run on a node, with the certificates that lie in FOLDER there: as etcd's own, for its
# peers, and for its clients.
docs_etcd() { # NODE FOLDER CLIENT
	local node=$1 folder=$2 member kind cluster=()
	for member in "${NODES[@]}"; do
		cluster+=("$member=https://$(mgmt_ip "$member"):2380")
	done
	mkdir -p "$T/disk-$node$folder"
	[[ -e $PKI/peer-$node.crt ]] ||
		pki_issue "peer-$node" etcd-ca "$node" "IP:$(mgmt_ip "$node"),DNS:$node"
	cp "$PKI/etcd-ca.crt" "$T/disk-$node$folder/ca.crt"
	for kind in crt key; do
		cp "$PKI/etcd-$node.$kind" "$T/disk-$node$folder/server.$kind"
		cp "$PKI/peer-$node.$kind" "$T/disk-$node$folder/peer.$kind"
		cp "$PKI/client-$node.$kind" "$T/disk-$node$folder/$3.$kind"
	done
	cat >"$T/disk-$node/etc/default/etcd" <<-ENV
		ETCD_NAME=$node
		ETCD_DATA_DIR=/var/lib/etcd
		ETCD_LISTEN_PEER_URLS=https://$(mgmt_ip "$node"):2380
		ETCD_INITIAL_ADVERTISE_PEER_URLS=https://$(mgmt_ip "$node"):2380
		ETCD_LISTEN_CLIENT_URLS=https://$(mgmt_ip "$node"):2379,https://127.0.0.1:2379
		ETCD_ADVERTISE_CLIENT_URLS=https://$(mgmt_ip "$node"):2379
		ETCD_INITIAL_CLUSTER=$(IFS=,; echo "${cluster[*]}")
		ETCD_INITIAL_CLUSTER_STATE=new
		ETCD_INITIAL_CLUSTER_TOKEN=story
		ETCD_CLIENT_CERT_AUTH=true
		ETCD_TRUSTED_CA_FILE=$folder/ca.crt
		ETCD_CERT_FILE=$folder/server.crt
		ETCD_KEY_FILE=$folder/server.key
		ETCD_PEER_CLIENT_CERT_AUTH=true
		ETCD_PEER_TRUSTED_CA_FILE=$folder/ca.crt
		ETCD_PEER_CERT_FILE=$folder/peer.crt
		ETCD_PEER_KEY_FILE=$folder/peer.key
		ETCD_LOGGER=zap
	ENV
}

docs_show() {
	tail -n 30 "$LOG_DIR/docs.log"
	tail -n 5 "$T"/disk-*/*.log
}
ON_FAILURE+=(docs_show)

# Standard input as a script on a node. It ends with the first command that fails.
on() { # NODE
	local node=$1 script="$T/script-$1"
	{
		echo 'set -euo pipefail'
		docs_text
	} >"$script"
	"$T/bin/docs-node" "$node" bash "$script" >>"$LOG_DIR/docs.log" 2>&1
}

# Runs them all, each on its nodes. A block may need more than one try where the page says so: then
# DOCS_AGAIN is a pattern of its text.
docs_run() { # PAGE HEADING
	local line number= nodes= text= found=
	while IFS= read -r line; do
		if [[ $line == $'\t'* ]]; then
			text+=${line#$'\t'}$'\n'
			continue
		fi
		[[ -z $number ]] || docs_block "$1:$number" "$nodes" "$text"
		read -r number nodes <<<"$line"
		text=
		found=yes
	done < <("$ROOT/tests/docs/blocks" "$ROOT/docs/$1" "$2")
	[[ -n $found ]] || fail "docs/$1 has no block to run below '$2'"
	docs_block "$1:$number" "$nodes" "$text"
}

docs_block() { # PLACE NODES TEXT
	local node end
	for node in $2; do
		printf '=== docs/%s on %s\n%s' "$1" "$node" "$3" >>"$LOG_DIR/docs.log"
		end=$(($(now_cs) + 6000))
		until on "$node" <<<"$3"; do
			[[ -n ${DOCS_AGAIN:-} && $3 =~ $DOCS_AGAIN && $(now_cs) -lt $end ]] ||
				fail "docs/$1 does not work on $node: $(tail -n 8 "$LOG_DIR/docs.log")"
			nap 0.5
		done
	done
}

# Starts and stops etcd on a node as kubelet does with a static pod: as long as its manifest is there.
docs_kubelet() { # NODE
	docs-node "$1" bash -c 'while sleep 0.2; do
			if [[ -e /etc/kubernetes/manifests/etcd.yaml ]]; then systemctl start etcd; else systemctl stop etcd; fi
		done' >>"$LOG_DIR/kubelet-$1.log" 2>&1 </dev/null &
	PID[kubelet-$1]=$!
}
