/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What of Kubernetes and etcd is on a node, and which files they have. */

#include "cli/init/initfacts.h"

void initcluster_look(const char *root, struct initfacts *facts);
