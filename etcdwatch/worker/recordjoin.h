/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fetches the pieces of one segment from a target and puts them together, byte for byte, as the
 * file of the segment in a directory. Each piece must be what its manifest says, and all of them
 * together too. Codes as of recordfetch.h.
 */

#include <stdbool.h>
#include <stdint.h>

#include "etcdwatch/catalog/trust.h"
#include "etcdwatch/worker/opener.h"
#include "etcdwatch/worker/problem.h"
#include "etcdwatch/worker/recordplan.h"
#include "web/s3.h"

/* All borrowed. */
struct recordjoin_request {
	struct s3 *s3;
	const char *prefix;
	const char *room;
	struct opener_keys keys;
	bool encrypted; /* a piece that is not is refused */
	struct trust trust;
	bool is_named; /* the snapshot was, so that an unsigned piece is let pass as well */
};

/* By the signature of its manifest; else a sentence. */
bool recordjoin_allows(const struct recordjoin_request *request, const struct recordpiece *piece,
                       char ret_reason[static PROBLEM_REASON_MAX]);

/* `last` is the manifest of the whole segment, or of the last piece in a row. Adds what it has
 * fetched to `n_bytes`. */
int recordjoin_run(const struct recordjoin_request *request, const struct recordpiece *last,
                   const struct recordstored *stored, struct problem *problem, uint64_t *n_bytes);
