/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Uploads that nobody goes on with: their parts cost space until they are aborted, and no list of
 * objects shows them. Whoever uploads a key again clears those of that key (s3parts.h); this is for
 * the keys that are never uploaded again.
 */

#include <stdint.h>

#include "etcdwatch/worker/common/problem.h"
#include "web/s3.h"

struct s3sweep_request {
	const char *prefix;
	bool whole_key;  /* `prefix` is a key, and not those that are longer */
	int64_t older_s; /* only those that began so long ago, by the server's clock; 0: all */
};

struct s3sweep_result {
	uint64_t n_aborted;
	uint64_t n_kept; /* younger, or of an age that the server does not tell */
};

int s3sweep_run(struct s3 *s3, const struct s3sweep_request *request, struct problem *problem,
                struct s3sweep_result *ret_result);

/* Pure: whether an upload that began then, as the server wrote it, is that old. */
bool s3sweep_is_old(const char *initiated, int64_t now_s, int64_t older_s);
