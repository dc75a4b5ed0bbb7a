/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * `fairlead etcd restore --nodes`: the whole cluster in one act. Each round asks all nodes for
 * their state, decides by that alone what comes next (restoredecide.h), and tells the nodes that
 * are behind to do it (restorestep.c). Nothing is remembered here, so the command may be killed at
 * any moment and typed again.
 */

#include "cli/restore/restoring.h"

/* The options have --nodes; the token is chosen. An exit code. */
int restorecluster_run(struct restoring *r);
