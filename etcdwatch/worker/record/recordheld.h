/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether what a target lists of a segment is this node's: signed with its key, and of the bytes
 * that are on its disk. Names alone prove nothing, as all who may write to the target can make
 * them.
 */

#include <stdbool.h>
#include <stdint.h>

#include "etcdwatch/worker/common/problem.h"
#include "etcdwatch/worker/record/recordplan.h"
#include "web/s3.h"
#include "web/signature.h"

/* All borrowed. */
struct recordheld_request {
	struct s3 *s3;
	const char *prefix;
	const char *node;
	const struct signature_key *key; /* NULL: by whom a manifest is signed is not asked */
	const char *path;                /* the segment on the disk */
	int64_t begin_us;                /* of its header */
	struct recordplan_local has;
	/* The object that is the whole segment was compared with the bytes here before: its manifest is
	 * enough. */
	bool is_compared;
	bool checks_all; /* the pieces before the last one, too */
};

struct recordheld_result {
	/* Why it cannot be gone on with: it is signed with this node's key, and is of other bytes,
	 * which is another history; or the bytes here cannot be read. "" */
	char other[PROBLEM_REASON_MAX];
	char foreign[PROBLEM_REASON_MAX]; /* a manifest that is not this node's, and why; "" */
};

/* Takes what is not this node's out of `stored`. */
int recordheld_check(const struct recordheld_request *request, struct recordstored *stored,
                     struct problem *problem, struct recordheld_result *ret_result);
