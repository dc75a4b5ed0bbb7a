/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Waits until the restored members are one cluster: each healthy, of the cluster id of the plan,
 * and at the revision that the furthest of them had when all were first healthy.
 */

#include "cli/restore/restorenodes.h"

struct restorehealth {
	json_t *said; /* by node: what its member answered last */
	int64_t revision;
};

/* An exit code; on failure it has named the node and the reason. */
int restorehealth_wait(const struct restorenodes *nodes, struct restorehealth *health);

/* --- pure --- */

/*
 * One round of answers, NULL where there is none. The first of the members that is not as above,
 * and why (to be freed); `n`: there is none. *revision is 0 until all are healthy, then what each
 * must have.
 */
size_t restorehealth_judge(uint64_t cluster_id, const json_t *const *said, size_t n,
                           int64_t *revision, char **ret_why);
