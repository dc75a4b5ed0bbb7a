/* SPDX-License-Identifier: Apache-2.0 */
/* There are few of either, so each is held against each. */
#include "etcdwatch/worker/rebuildpick.h"

#include <errno.h>
#include <stdbool.h>

#include "base/macro.h"

/* The chain has whatever follows the snapshot. */
static bool goes_on_from(const struct chain *chain, const struct rebuildpick_base *base)
{
	return (base->cluster_id == 0 || base->cluster_id == chain->cluster_id) &&
	       chain->first <= base->revision + 1 && chain->last >= base->revision;
}

/* What was recorded last counts, then the line that was written to last. Chains are of one array.
 */
static bool is_better(const struct rebuildpick *a, const struct rebuildpick *b,
                      const struct rebuildpick_base *bases)
{
	const struct rebuildpick_base *x = &bases[a->base], *y = &bases[b->base];

	if (a->chain != b->chain)
		return a->chain != NULL && (b->chain == NULL || a->chain > b->chain);
	return x->timeline != y->timeline ? x->timeline > y->timeline : x->revision > y->revision;
}

/* The last chain by which the revision can be had from this one; NULL: none. */
static const struct chain *find_chain(const struct rebuildpick_base *base,
                                      const struct chain *chains, size_t n_chains, int64_t revision)
{
	for (size_t i = n_chains; i-- > 0;) {
		if (goes_on_from(&chains[i], base) && chains[i].last >= revision)
			return &chains[i];
	}
	return NULL;
}

static void keep_nearest(struct rebuildpick_nearest *nearest, int64_t wanted, int64_t revision)
{
	if (revision < wanted)
		nearest->below = MAX(nearest->below, revision);
	else if (revision > wanted && (nearest->above == 0 || revision < nearest->above))
		nearest->above = revision;
}

static struct rebuildpick_nearest find_nearest(const struct rebuildpick_base *bases, size_t n_bases,
                                               const struct chain *chains, size_t n_chains,
                                               int64_t revision)
{
	struct rebuildpick_nearest nearest = {0};

	for (size_t i = 0; i < n_bases; i++) {
		keep_nearest(&nearest, revision, bases[i].revision);
		for (size_t k = 0; k < n_chains; k++) {
			if (goes_on_from(&chains[k], &bases[i]) && chains[k].last < revision)
				keep_nearest(&nearest, revision, chains[k].last);
		}
	}
	return nearest;
}

int rebuildpick_revision(const struct rebuildpick_base *bases, size_t n_bases,
                         const struct chain *chains, size_t n_chains, int64_t revision,
                         struct rebuildpick *ret_pick, struct rebuildpick_nearest *ret_nearest)
{
	struct rebuildpick best = {0};
	bool is_found = false;

	for (size_t i = 0; i < n_bases; i++) {
		const struct rebuildpick pick = {
		    .base = i, .chain = find_chain(&bases[i], chains, n_chains, revision)};

		if (bases[i].revision > revision || (bases[i].revision < revision && pick.chain == NULL) ||
		    (is_found && !is_better(&pick, &best, bases)))
			continue;
		best = pick;
		is_found = true;
	}
	if (!is_found) {
		*ret_nearest = find_nearest(bases, n_bases, chains, n_chains, revision);
		return -ENOENT;
	}
	*ret_pick = best;
	return 0;
}

const struct chain *rebuildpick_time(const struct chain *chains, size_t n_chains, int64_t us)
{
	for (size_t i = n_chains; i-- > 0;) {
		if (chains[i].first_us <= us && us <= chains[i].last_us)
			return &chains[i];
	}
	return NULL;
}
