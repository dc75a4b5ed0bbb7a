# SPDX-License-Identifier: Apache-2.0
# Sourced by every story of etcdwatch: a world of its own (lib/world.sh) and three nodes with etcd, no
# VIP and no API servers. What a story may set is in lib/etcdwatch.sh.
# From the environment, besides what lib/begin.sh takes:
#   FAIRLEAD_ETCD  3.4, 3.5, ...: the etcd to run (tests/netns/etcd-get); default the system's own
#   ETCDWATCH      the etcdwatch to test (etcdwatch-worker is beside it)

# shellcheck source=tests/netns/lib/begin.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/begin.sh"
VIP=
NODES=(n1 n2 n3)
FAIRLEAD_TIMEOUT=30 # a snapshot is taken meanwhile, or a store is asked

use world topology pki etcd etcdwatch stores drill

world_enter "$@"
