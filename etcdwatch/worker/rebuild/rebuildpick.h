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
