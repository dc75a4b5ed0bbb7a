/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The database of a past revision: a snapshot from before, and what was recorded behind it, written
 * as a snapshot file like any other. It is read back and proven before it gets its name; when
 * anything fails, nothing is left.
 *
 * Codes besides those of source.h and rebuildmerge.h: UNREACHABLE, that revision cannot be had,
 * with the nearest ones that can; HISTORY, several histories have it; DIFFERS, the result is not
 * what a member said of its keys.
 */

#include <jansson.h>
#include <stdint.h>

#include "base/nodeconf.h"
#include "bolt/snapshot.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/rebuild/rebuildmerge.h"
#include "etcdwatch/worker/record/recordjoin.h"
#include "etcdwatch/worker/source/source.h"
#include "web/digest.h"

enum rebuild_to {
	REBUILD_TO_END, /* as far as the record goes */
	REBUILD_TO_REVISION,
	REBUILD_TO_TIME,
};

/* All borrowed. */
struct rebuild_request {
	/* Which snapshot; "latest" is the one that fits best. Not where it is unpacked. */
	struct source_request base;
	const char *record; /* the directory; NULL: in the target that has the snapshots */
	enum rebuild_to to;
	int64_t revision;
	int64_t us;            /* wall clock, since the epoch */
	unsigned long history; /* rebuildchoice.h; 0: not named */
	const char *output;
};

/* What of the record came from a target. */
struct recordfetched {
	char node[NODECONF_NAME_MAX + 1]; /* whose record it is; "": none was fetched */
	uint64_t n_segments;
	struct recordjoined joined;
	/* Why what would have been better was passed over; "" */
	char passed[PROBLEM_REASON_MAX];
};

struct rebuild_result {
	struct source *base; /* the caller frees it; its file may be gone */
	bool has_record;     /* else the snapshot was all that it took */
	struct chain record; /* which of the chains */
	struct rebuildmerge_result merge;
	struct snapshot_content content;
	char sha256[DIGEST_HEX_MAX]; /* of the database, without the digest behind it */
	size_t n_proven;             /* hashes that members had told, and that fit */
	json_t *history;             /* rebuildchoice.h; the caller frees it */
	size_t n_histories;          /* that have the revision */
	struct recordfetched fetched;
};

int rebuild_run(const struct rebuild_request *request, struct problem *problem,
                struct rebuild_result *ret_result);
