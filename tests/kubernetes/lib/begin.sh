# SPDX-License-Identifier: Apache-2.0
# Sourced first by what runs a real Kubernetes: builds what it takes, enters a world of its own (tests/netns/lib) and
# brings the parts of this folder and of that. Sets K8S, the folder of tests/kubernetes/get, and CLIENT, the program of
# tests/kubernetes/client.

KUBERNETES_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=${BUILD:-$KUBERNETES_DIR/../../build}
export LOG_DIR=${LOG_DIR:-$BUILD/tests/kubernetes/$(basename "$0" .sh)} FAIRLEAD_ETCD=3.6
# shellcheck source=tests/netns/lib/begin.sh
. "$KUBERNETES_DIR/../netns/lib/begin.sh"
VIP=10.86.0.100 POLICY= OVERLAP_MS=0
NODES=(n1 n2 n3)
T=/run/story
VIPD=${VIPD:-$BUILD/bin/vipd}

# Before there is a world without a way out.
if [[ $$ -ne 1 ]]; then
	K8S=$("$KUBERNETES_DIR/get")
	"$NETNS_DIR/etcd-get" "$FAIRLEAD_ETCD" >/dev/null
	mkdir -p "$BUILD/tests/kubernetes"
	CLIENT=$BUILD/tests/kubernetes/client
	(cd "$KUBERNETES_DIR" && go build -mod=readonly -trimpath -o "$CLIENT" ./client)
	export K8S CLIENT
fi

use world lateness topology pki etcd wire prism vipd
# shellcheck source=/dev/null
for part in cluster faults clients; do . "$KUBERNETES_DIR/lib/$part.sh"; done
ETCD_BIN=$("$NETNS_DIR/etcd-get" "$FAIRLEAD_ETCD")

world_enter "$@"
