/* SPDX-License-Identifier: Apache-2.0 */
/* There are few of either, so each is held against each. */
#include "etcdwatch/worker/rebuild/rebuildpick.h"

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
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

/* --- recordreach --- */

/* When a segment began orders the segments of a node, whatever their sequence. */

static int compare_numbers(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_segments(const void *a, const void *b)
{
	const struct recordreach_segment *x = a, *y = b;
	int r = strcmp(x->last.node, y->last.node);

	if (r == 0)
		r = compare_numbers(x->last.begin_us, y->last.begin_us);
	if (r == 0 && x->named.sequence != y->named.sequence)
		r = x->named.sequence < y->named.sequence ? -1 : 1;
	return r != 0 ? r : strcmp(x->last.segment, y->last.segment);
}

static bool is_same_series(const struct recordreach_segment *before,
                           const struct recordreach_segment *next)
{
	return strcmp(before->last.node, next->last.node) == 0 &&
	       before->named.sequence < next->named.sequence;
}

/* A header repeats when the segment before it was complete. A missing END ends the chain. */
static bool goes_on(const struct recordreach_segment *before,
                    const struct recordreach_segment *next)
{
	return before->series == next->series && before->last.is_closed && !next->begins &&
	       before->named.sequence + 1 == next->named.sequence &&
	       before->named.cluster_id == next->named.cluster_id &&
	       before->last.last_revision + 1 == next->named.first_revision &&
	       before->last.until_us == next->last.begin_us;
}

static int compare_chains(const void *a, const void *b)
{
	const struct chain *x = a, *y = b;
	int r = compare_numbers(x->last_us, y->last_us);

	return r != 0 ? r : compare_numbers((int64_t) x->first_segment, (int64_t) y->first_segment);
}

void recordreach_find(struct recordreach_segment *segments, size_t n, struct recordreach *ret_reach)
{
	struct recordreach reach = {0};
	size_t series = 0;

	if (n > 0)
		qsort(segments, n, sizeof(*segments), compare_segments);
	for (size_t i = 0; i < n; i++) {
		struct recordreach_segment *s = &segments[i];
		struct chain *chain;

		if (i > 0 && !is_same_series(s - 1, s))
			series++;
		s->series = series;
		if (i == 0 || !goes_on(s - 1, s)) {
			reach.chains = xreallocarray(reach.chains, reach.n + 1, sizeof(*reach.chains));
			reach.chains[reach.n++] = (struct chain){.cluster_id = s->named.cluster_id,
			                                         .first = s->named.first_revision,
			                                         .first_us = s->last.begin_us,
			                                         .first_segment = i};
		}
		chain = &reach.chains[reach.n - 1];
		chain->last = s->last.last_revision;
		chain->last_us = s->last.until_us;
		chain->n_segments++;
	}
	if (reach.n > 0)
		qsort(reach.chains, reach.n, sizeof(*reach.chains), compare_chains);
	*ret_reach = reach;
}

void recordreach_fini(struct recordreach *reach)
{
	free(reach->chains);
	*reach = (struct recordreach){0};
}

bool recordreach_is_passed(const struct recordstored *stored, const struct recordstored *next,
                           int64_t revision)
{
	return next != NULL && !next->begins && next->named.cluster_id == stored->named.cluster_id &&
	       next->named.sequence == stored->named.sequence + 1 &&
	       next->named.first_revision >= stored->named.first_revision &&
	       next->named.first_revision <= revision;
}
