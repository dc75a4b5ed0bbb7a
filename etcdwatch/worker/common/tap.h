/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A stage that changes nothing: it counts and hashes what passes. */

#include "etcdwatch/worker/common/sink.h"
#include "web/digest.h"

/* What passed, once the tap was finished; the owner's, and outlives the tap. */
struct tap_result {
	uint64_t n_bytes;
	char sha256[DIGEST_HEX_MAX];
};

/* Takes `next`, which may be NULL: then what passed is gone. Borrows `result`. */
struct sink *tap_new(struct sink *next, struct tap_result *result);
