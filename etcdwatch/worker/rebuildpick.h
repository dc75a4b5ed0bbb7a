/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From which snapshot, and with which chain of the record, a revision can be had; and if not, which
 * ones can. Pure.
 *
 * A revision N can be had from a snapshot of just that revision, or from one of revision B <= N
 * when a chain of the same cluster has all of B + 1 to N.
 */

#include <stddef.h>
#include <stdint.h>

#include "etcdwatch/worker/chains.h"

struct rebuildpick_base {
	uint64_t cluster_id; /* 0: not known, as of a file that no entry is about */
	int64_t timeline;    /* catalog.h */
	int64_t revision;
};

struct rebuildpick {
	size_t base;
	const struct chain *chain; /* NULL: the snapshot alone is it */
};

/* 0: there is none. */
struct rebuildpick_nearest {
	int64_t below;
	int64_t above;
};

/*
 * By the chain that was recorded last, if several will do; then from the newest snapshot, of the
 * line that was written to last. 0; or -ENOENT and the nearest revisions that can be had.
 */
int rebuildpick_revision(const struct rebuildpick_base *bases, size_t n_bases,
                         const struct chain *chains, size_t n_chains, int64_t revision,
                         struct rebuildpick *ret_pick, struct rebuildpick_nearest *ret_nearest);

/* The chain that was recorded at that time; of several, the last. NULL: none was. */
const struct chain *rebuildpick_time(const struct chain *chains, size_t n_chains, int64_t us);
