# SPDX-License-Identifier: Apache-2.0
# Certificates, by openssl. Two authorities as kubeadm has them: etcd's, for servers, peers and
# clients; and the cluster's, for the API servers. Keys are P-256: quick to make.

PKI=/run/story/pki

# An authority NAME: $PKI/NAME.crt, $PKI/NAME.key.
pki_authority() { # NAME
	mkdir -p "$PKI"
	${PKI_CLOCK:+faketime -f "$PKI_CLOCK"} openssl req -x509 -newkey ec \
		-pkeyopt ec_paramgen_curve:P-256 -nodes -days "${PKI_DAYS:-30}" -subj "/CN=$1" \
		-keyout "$PKI/$1.key" -out "$PKI/$1.crt" 2>>"$LOG_DIR/openssl.log"
}

# A certificate NAME of AUTHORITY, for servers and clients alike, with these subject alternative names.
# PKI_CLOCK="-86370s" with PKI_DAYS=1 makes one that expires in half a minute.
pki_issue() { # NAME AUTHORITY CN SAN
	${PKI_CLOCK:+faketime -f "$PKI_CLOCK"} openssl req -x509 -newkey ec \
		-pkeyopt ec_paramgen_curve:P-256 -nodes -days "${PKI_DAYS:-30}" -subj "/CN=$3" \
		-CA "$PKI/$2.crt" -CAkey "$PKI/$2.key" -addext "subjectAltName=$4" \
		-addext basicConstraints=critical,CA:FALSE \
		-addext extendedKeyUsage=serverAuth,clientAuth \
		-keyout "$PKI/$1.key.new" -out "$PKI/$1.crt.new" 2>>"$LOG_DIR/openssl.log"
	# vipd is not root here; every key is in this story's own memory.
	chmod 644 "$PKI/$1.key.new"
	mv "$PKI/$1.key.new" "$PKI/$1.key"
	mv "$PKI/$1.crt.new" "$PKI/$1.crt"
}

pki_up() {
	local node
	pki_authority etcd-ca
	pki_authority cluster-ca
	for node in "${NODES[@]}"; do
		pki_issue_etcd "$node" etcd-ca
		pki_issue "client-$node" etcd-ca "fairlead-$node" "DNS:fairlead"
		pki_issue_api "$node" cluster-ca
	done
	pki_issue client-admin etcd-ca admin "DNS:admin"
	cp "$PKI/etcd-ca.crt" "$PKI/etcd-trust.crt"
}

pki_issue_etcd() { # NODE AUTHORITY
	pki_issue "etcd-$1" "$2" "$1" "DNS:$1,DNS:localhost,IP:127.0.0.1,IP:$(mgmt_ip "$1")"
}

# As kubeadm issues it: for the Service's names and the node's own address.
pki_issue_api() { # NODE AUTHORITY
	pki_issue "api-$1" "$2" kube-apiserver "DNS:kubernetes,DNS:kubernetes.default,\
IP:127.0.0.1,IP:10.86.0.${NUMBER[$1]},IP:fd86::${NUMBER[$1]}${VIP:+,IP:$VIP}"
}
