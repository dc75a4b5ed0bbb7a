/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The segments in a directory of records, and which of them make unbroken chains: each segment goes
 * on where the one before it ended, names it by its digest and is of the same cluster. To list them
 * only headers are read, and the last segment of each chain to its end; that the digests fit is
 * found out as a chain is read.
 *
 * Times are wall clock, microseconds since the epoch, of the machine that recorded.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/mono.h"
#include "etcdwatch/record/segment.h"
#include "etcdwatch/worker/common/result.h"

/* Progress is told each second, so this is an interruption; etcdwatch may have been down for days.
 */
#define CHAINS_BLIND_US (5 * US_PER_S)

struct chain {
	uint64_t cluster_id;
	int64_t first; /* the first revision that is in it */
	int64_t last;  /* and the last; first - 1 when there is none yet */
	int64_t first_us;
	int64_t last_us; /* by the clock as it was set last: until then everything is in it */
	bool begins;     /* recording began with its first segment; else older ones were dropped */
	size_t first_segment, n_segments;
};

struct chains;

/* NOT_FOUND if there is no such directory; without a record in it there are no chains. A segment
 * that is damaged ends its chain before that; one whose header is, is as if it were not there. */
int chains_read(const char *directory, struct problem *problem, struct chains **ret_chains);
void chains_free(struct chains *chains);
DEFINE_AUTO(struct chains, chains_free);

/* In the order in which they were recorded. */
size_t chains_count(const struct chains *chains);
const struct chain *chains_at(const struct chains *chains, size_t i);

/* The name of its first file. */
const char *chains_segment(const struct chains *chains, const struct chain *chain);

/* What was found to be damaged, first: a sentence with the file and the offset; NULL: nothing. What
 * is between the first segment of a chain and its last was not looked at yet. */
const char *chains_damage(const struct chains *chains);

/* What its segments with the revisions from the first to the second take on the disk. */
uint64_t chains_bytes(const struct chains *chains, const struct chain *chain, int64_t from,
                      int64_t to);

/* --- one of them --- */

struct chainread;

/* From the segment with this revision on, so that earlier ones may come first. Both are borrowed.
 */
struct chainread *chainread_open(const struct chains *chains, const struct chain *chain,
                                 int64_t revision);
void chainread_free(struct chainread *read);
DEFINE_AUTO(struct chainread, chainread_free);

/* 1 and the next frame, good until the next call; 0 at the end; -EBADMSG and DAMAGED, with file
 * and offset; or an error of reading. */
int chainread_next(struct chainread *read, struct problem *problem, struct record_frame *ret_frame);

/*
 * Where it stood at a time within it: the revision before the first change that was seen later.
 * UNREACHABLE if that change may have happened before: while nothing was seen for longer than
 * CHAINS_BLIND_US; or if the clock was set back later, so that it was that time more than once. The
 * rest of the chain is read for that.
 */
int chains_revision_at(const struct chains *chains, const struct chain *chain, int64_t us,
                       struct problem *problem, int64_t *ret_revision);
