/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From which snapshot, and with which chain of the record, a revision can be had; and if not, which
 * ones can. Pure.
 *
 * A revision N can be had from a snapshot of just that revision, or from one of revision B <= N
 * when a chain of the same history has all of B + 1 to N. etcd may have had the revision more than
 * once: after a rollback, and after a restore without a raised revision. Each chain is one history,
 * and so are snapshots that no chain goes on from.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "etcdwatch/worker/rebuild/chains.h"
#include "etcdwatch/worker/record/recordpiece.h"

#define REBUILDPICK_HISTORIES_MAX 16

struct rebuildpick_base {
	uint64_t cluster_id; /* 0: not known, as of a file that no entry is about */
	int64_t timeline;    /* catalog.h */
	int64_t revision;
	int64_t started_s; /* since the epoch, by the clock of the node that took it; 0: not known */
};

/* One history that has the revision. */
struct rebuildpick {
	const struct chain *chain; /* NULL: the snapshot alone is it */
	bool has_base;             /* else it is recorded, but there is no snapshot to put it on */
	bool fits_by_time;         /* the snapshot was taken while the chain was recorded, or before */
	size_t base;
};

/* 0: there is none. */
struct rebuildpick_nearest {
	int64_t below;
	int64_t above;
};

struct rebuildpick_world {
	const struct rebuildpick_base *bases;
	size_t n_bases;
	const struct chain *chains; /* in the order in which they were recorded */
	size_t n_chains;
};

/*
 * All histories that have the revision, the newest first; if there are too many, the newest. Each
 * with its best snapshot: by its time one of the same history, then of the line that was written to
 * last, then the newest. Returns how many.
 */
size_t rebuildpick_revision(const struct rebuildpick_world *world, int64_t revision,
                            struct rebuildpick ret_picks[static REBUILDPICK_HISTORIES_MAX]);
struct rebuildpick_nearest rebuildpick_nearest(const struct rebuildpick_world *world,
                                               int64_t revision);

/* The chains that were recorded at that time, the newest first: the clock may have been set back.
 * Returns how many. */
size_t rebuildpick_time(const struct rebuildpick_world *world, int64_t us,
                        const struct chain *ret_chains[static REBUILDPICK_HISTORIES_MAX]);

/*
 * From which node's segments in a target a revision or a time can be had, and which of them that
 * takes. Pure; by the manifests. A series is what one node recorded with growing sequences: a node
 * whose disk is replaced begins with sequence 1 again, and then its segments are two series. A
 * chain is as in chains.h.
 */

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
