/* SPDX-License-Identifier: Apache-2.0 */
/* When a segment began orders the segments of a node, whatever their sequence. */
#include "etcdwatch/worker/rebuild/recordreach.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

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
