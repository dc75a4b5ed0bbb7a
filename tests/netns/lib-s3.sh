# SPDX-License-Identifier: Apache-2.0
# Sourced by every story about S3: a world of its own (lib/world.sh), a real S3-compatible server, and
# etcdwatch-worker. What a story may set is in lib/s3.sh.
# From the environment, besides what lib/begin.sh takes:
#   WORKER         the etcdwatch-worker to test

# shellcheck source=tests/netns/lib/begin.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/begin.sh"
WORKER=${WORKER:-$BUILD/bin/etcdwatch-worker}
T=/run/story

use world pki s3

world_enter "$@"
