/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The hash of a file as it is, for tests. */

#include "bolt/hashkv.h"

static inline int hashkv_compute(struct bolt *db, int64_t revision,
                                 struct hashkv_result *ret_result)
{
	struct mvcc_reach reach;
	int r = mvcc_read_reach(db, &reach);

	return r < 0 ? r : hashkv_compute_before(db, &reach, revision, ret_result);
}
