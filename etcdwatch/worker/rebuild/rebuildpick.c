/* SPDX-License-Identifier: Apache-2.0 */
/* There are few of either, so each is held against each. */
#include "etcdwatch/worker/rebuild/rebuildpick.h"

#include <string.h>

#include "base/macro.h"
#include "base/mono.h"
#include "etcdwatch/record/recordbase.h"

static bool is_of_chain(const struct chain *chain, const struct rebuildpick_base *base)
{
	const struct recordbase_chain c = {
	    .first_revision = chain->first, .first_us = chain->first_us, .begins = chain->begins};

	return base->started_s == 0 || recordbase_fits(base->started_s, base->revision, &c);
}

/* The chain has all that follows the snapshot. What both have is compared as they are merged; where
 * they have nothing in common, their times must fit. */
static bool goes_on_from(const struct chain *chain, const struct rebuildpick_base *base)
{
	if (base->cluster_id != 0 && base->cluster_id != chain->cluster_id)
		return false;
	if (base->revision + 1 == chain->first && !is_of_chain(chain, base))
		return false;
	return chain->first <= base->revision + 1 && chain->last >= base->revision;
}

/* By their times they are of one history. Clocks of several nodes differ, and are set. */
static bool fits_by_time(const struct chain *chain, const struct rebuildpick_base *base)
{
	return is_of_chain(chain, base) &&
	       (base->started_s == 0 || base->revision >= chain->last ||
	        base->started_s * US_PER_S <= chain->last_us + CHAINS_BLIND_US);
}

static bool is_better(const struct chain *chain, const struct rebuildpick_base *a,
                      const struct rebuildpick_base *b)
{
	if (fits_by_time(chain, a) != fits_by_time(chain, b))
		return fits_by_time(chain, a);
	return a->timeline != b->timeline ? a->timeline > b->timeline : a->revision > b->revision;
}

static void use_base(const struct rebuildpick_world *w, size_t i, struct rebuildpick *pick)
{
	if (pick->has_base && !is_better(pick->chain, &w->bases[i], &w->bases[pick->base]))
		return;
	pick->has_base = true;
	pick->fits_by_time = fits_by_time(pick->chain, &w->bases[i]);
	pick->base = i;
}

/* --- histories --- */

static bool find_chain(const struct rebuildpick_world *w, const struct chain *chain,
                       int64_t revision, struct rebuildpick *ret_pick)
{
	struct rebuildpick pick = {.chain = chain};

	for (size_t i = 0; i < w->n_bases && revision <= chain->last; i++) {
		if (w->bases[i].revision <= revision && goes_on_from(chain, &w->bases[i]))
			use_base(w, i, &pick);
	}
	*ret_pick = pick;
	return pick.has_base || (chain->first <= revision && revision <= chain->last);
}

static int64_t time_of(const struct rebuildpick_world *w, const struct rebuildpick *pick)
{
	return pick->chain != NULL ? pick->chain->first_us : w->bases[pick->base].started_s * US_PER_S;
}

/* The newest first; of as many as there is room for. */
static size_t insert(const struct rebuildpick_world *w, struct rebuildpick *picks, size_t n,
                     const struct rebuildpick *pick)
{
	size_t at = n;

	while (at > 0 && time_of(w, &picks[at - 1]) < time_of(w, pick))
		at--;
	if (at == REBUILDPICK_HISTORIES_MAX)
		return n;
	n = MIN(n + 1, (size_t) REBUILDPICK_HISTORIES_MAX);
	memmove(&picks[at + 1], &picks[at], (n - at - 1) * sizeof(*picks));
	picks[at] = *pick;
	return n;
}

static bool is_of_a_chain(const struct rebuildpick_world *w, const struct rebuildpick_base *base)
{
	for (size_t i = 0; i < w->n_chains; i++) {
		if (goes_on_from(&w->chains[i], base) && fits_by_time(&w->chains[i], base))
			return true;
	}
	return false;
}

/* Snapshots of one cluster and line are of one history. */
static size_t insert_alone(const struct rebuildpick_world *w, size_t base,
                           struct rebuildpick *picks, size_t n)
{
	const struct rebuildpick pick = {.has_base = true, .fits_by_time = true, .base = base};
	const struct rebuildpick_base *b = &w->bases[base];

	for (size_t i = 0; i < n; i++) {
		const struct rebuildpick_base *other = &w->bases[picks[i].base];

		if (picks[i].chain == NULL && other->cluster_id == b->cluster_id &&
		    other->timeline == b->timeline)
			return n;
	}
	return insert(w, picks, n, &pick);
}

size_t rebuildpick_revision(const struct rebuildpick_world *w, int64_t revision,
                            struct rebuildpick ret_picks[static REBUILDPICK_HISTORIES_MAX])
{
	struct rebuildpick pick;
	size_t n = 0;

	/* The order of the record counts, whatever the clock says. */
	for (size_t i = w->n_chains; i-- > 0 && n < REBUILDPICK_HISTORIES_MAX;) {
		if (find_chain(w, &w->chains[i], revision, &pick))
			ret_picks[n++] = pick;
	}
	for (size_t i = 0; i < w->n_bases; i++) {
		if (w->bases[i].revision == revision && !is_of_a_chain(w, &w->bases[i]))
			n = insert_alone(w, i, ret_picks, n);
	}
	return n;
}

/* --- what can be had instead --- */

static void keep_nearest(struct rebuildpick_nearest *nearest, int64_t wanted, int64_t revision)
{
	if (revision < wanted)
		nearest->below = MAX(nearest->below, revision);
	else if (revision > wanted && (nearest->above == 0 || revision < nearest->above))
		nearest->above = revision;
}

struct rebuildpick_nearest rebuildpick_nearest(const struct rebuildpick_world *w, int64_t revision)
{
	struct rebuildpick_nearest nearest = {0};

	for (size_t i = 0; i < w->n_bases; i++) {
		keep_nearest(&nearest, revision, w->bases[i].revision);
		for (size_t k = 0; k < w->n_chains; k++) {
			if (goes_on_from(&w->chains[k], &w->bases[i]) && w->chains[k].last < revision)
				keep_nearest(&nearest, revision, w->chains[k].last);
		}
	}
	return nearest;
}

/* --- times --- */

size_t rebuildpick_time(const struct rebuildpick_world *w, int64_t us,
                        const struct chain *ret_chains[static REBUILDPICK_HISTORIES_MAX])
{
	size_t n = 0;

	for (size_t i = w->n_chains; i-- > 0 && n < REBUILDPICK_HISTORIES_MAX;) {
		if (w->chains[i].first_us <= us && us <= w->chains[i].last_us)
			ret_chains[n++] = &w->chains[i];
	}
	return n;
}
