/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison, and two passes. */
#include "cli/restore/rescuepick.h"

/* Whether a is further than b: > 0, 0, < 0. */
static int compare(const struct rescuepick_candidate *a, const struct rescuepick_candidate *b)
{
	if (a->index != b->index)
		return a->index > b->index ? 1 : -1;
	if (a->term != b->term)
		return a->term > b->term ? 1 : -1;
	return a->revision > b->revision ? 1 : -(a->revision < b->revision);
}

static bool are_of_one_cluster(const struct rescuepick_candidate *candidates, size_t n)
{
	uint64_t id = 0;

	for (size_t i = 0; i < n; i++) {
		if (candidates[i].cluster_id == 0)
			continue;
		if (id != 0 && candidates[i].cluster_id != id)
			return false;
		id = candidates[i].cluster_id;
	}
	return true;
}

/* The furthest of the sound ones, but for `without`; the first of equals. */
static size_t furthest(const struct rescuepick_candidate *candidates, size_t n, size_t without)
{
	size_t best = RESCUEPICK_NONE;

	for (size_t i = 0; i < n; i++) {
		if (i == without || !candidates[i].is_sound)
			continue;
		if (best == RESCUEPICK_NONE || compare(&candidates[i], &candidates[best]) > 0)
			best = i;
	}
	return best;
}

static size_t furthest_by_wal(const struct rescuepick_candidate *candidates, size_t n, size_t best)
{
	size_t found = RESCUEPICK_NONE;

	for (size_t i = 0; i < n; i++) {
		const struct rescuepick_candidate *c = &candidates[i];

		if (!c->is_sound || !c->has_wal || c->n_writes == 0 ||
		    c->wal_commit <= candidates[best].index)
			continue;
		if (found == RESCUEPICK_NONE || c->wal_commit > candidates[found].wal_commit)
			found = i;
	}
	return found;
}

static enum rescuepick_reason explain(const struct rescuepick_candidate *best,
                                      const struct rescuepick_candidate *second)
{
	if (best->index != second->index)
		return RESCUEPICK_HIGHEST_INDEX;
	return compare(best, second) > 0 ? RESCUEPICK_HIGHEST_REVISION : RESCUEPICK_ALL_EQUAL;
}

struct rescuepick rescuepick_choose(const struct rescuepick_candidate *candidates, size_t n)
{
	struct rescuepick pick = {.best = furthest(candidates, n, RESCUEPICK_NONE),
	                          .second = RESCUEPICK_NONE,
	                          .by_wal = RESCUEPICK_NONE};

	if (pick.best == RESCUEPICK_NONE) {
		pick.reason = RESCUEPICK_NO_SOUND_ONE;
		return pick;
	}
	if (!are_of_one_cluster(candidates, n)) {
		pick.best = RESCUEPICK_NONE;
		pick.reason = RESCUEPICK_OTHER_CLUSTER;
		return pick;
	}
	pick.second = furthest(candidates, n, pick.best);
	pick.by_wal = furthest_by_wal(candidates, n, pick.best);
	pick.reason = pick.second == RESCUEPICK_NONE
	                  ? RESCUEPICK_ONLY_SOUND_ONE
	                  : explain(&candidates[pick.best], &candidates[pick.second]);
	return pick;
}
