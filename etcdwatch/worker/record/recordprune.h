/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Removes from a target the segments, of every node, that no snapshot kept there needs: those of
 * the cluster whose last revision is not behind the oldest kept snapshot's. What the manifest says
 * of it counts, so a segment without a readable manifest stays, and so does one whose manifest is
 * not signed as what a program may choose must be (trust.h). A segment that was never closed may
 * still be written to: it stays for RECORDPRUNE_OPEN_US behind its last change.
 */

#include <stdint.h>

#include "base/mono.h"
#include "etcdwatch/catalog/trust.h"
#include "etcdwatch/worker/common/problem.h"
#include "etcdwatch/worker/record/recordplan.h"
#include "web/s3.h"

#define RECORDPRUNE_OPEN_US (INT64_C(7) * 24 * 3600 * US_PER_S)

struct recordprune_rules {
	uint64_t cluster_id;
	int64_t oldest_revision; /* of the snapshots that are kept */
	int64_t now_us;          /* wall clock */
	struct trust trust;
};

/* Pure: whether it may go at all, by its name: its manifest is worth reading. */
bool recordprune_is_candidate(const struct recordprune_rules *rules,
                              const struct recordstored *stored);
/* Pure: `last` is the manifest of the whole segment, or of its last piece. */
bool recordprune_goes(const struct recordprune_rules *rules, const struct recordpiece *last);

struct recordprune_result {
	uint64_t n_removed;                 /* objects */
	char untrusted[PROBLEM_REASON_MAX]; /* a segment that stays as it is not trusted; "" */
};

int recordprune_run(struct s3 *s3, const char *prefix, const struct recordprune_rules *rules,
                    struct problem *problem, struct recordprune_result *ret_result);
