/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From which node's segments in a target a revision or a time can be had, and which of them that
 * takes. Pure; by the manifests. A series is what one node recorded with growing sequences: a node
 * whose disk is replaced begins with sequence 1 again, and then its segments are two series. A
 * chain is as in chains.h.
 */

#include "etcdwatch/worker/rebuild/chains.h"
#include "etcdwatch/worker/rebuild/rebuildpick.h"
#include "etcdwatch/worker/record/recordplan.h"

struct recordreach_segment {
	struct record_header named;
	bool begins;
	struct recordpiece last; /* the whole segment, or its last piece */
	size_t index;            /* the caller's */
	size_t series;           /* recordreach_find() sets it */
};

struct recordreach {
	struct chain *chains; /* in the order in which they ended */
	size_t n;
};

/* Sorts the segments: by node, series and sequence; chains refer to that order. */
void recordreach_find(struct recordreach_segment *segments, size_t n,
                      struct recordreach *ret_reach);
void recordreach_fini(struct recordreach *reach);

/* Whether the segment has nothing behind the revision, as the one that goes on from it begins at or
 * before it. By names alone. NULL: there is no next one of the node. */
bool recordreach_is_passed(const struct recordstored *stored, const struct recordstored *next,
                           int64_t revision);
