/* SPDX-License-Identifier: Apache-2.0 */
/* The listing is the only memory of what was uploaded: an object without a manifest was cut off,
 * and is uploaded again. Whose the manifests are is for recordheld.h. */
#include "etcdwatch/worker/recordplan.h"

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"

void recordlisting_fini(struct recordlisting *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->items[i].ranges);
	free(l->items);
	*l = (struct recordlisting){0};
}

static struct recordstored *find(const struct recordlisting *l, const char *segment)
{
	/* A listing is in the order of its keys, so it is mostly the last. */
	for (size_t i = l->n; i-- > 0;) {
		if (strcmp(l->items[i].segment, segment) == 0)
			return &l->items[i];
	}
	return NULL;
}

struct recordstored *recordlisting_find(const struct recordlisting *l, const char *segment)
{
	return find(l, segment);
}

void recordlisting_add(struct recordlisting *l, const struct recordkey *key)
{
	struct recordstored *s = find(l, key->segment);

	if (s == NULL) {
		l->items = xreallocarray(l->items, l->n + 1, sizeof(*l->items));
		s = &l->items[l->n++];
		*s = (struct recordstored){.named = key->named, .begins = key->begins};
		memcpy(s->segment, key->segment, sizeof(s->segment));
	}
	if (key->is_whole) {
		s->is_whole |= key->is_manifest;
		return;
	}
	s->n_objects++;
	if (!key->is_manifest)
		return;
	s->ranges = xreallocarray(s->ranges, s->n_ranges + 1, sizeof(*s->ranges));
	s->ranges[s->n_ranges++] = (struct recordstored_range){.from = key->from, .to = key->to};
}

static int compare_segments(const void *a, const void *b)
{
	const struct recordstored *x = a, *y = b;

	if (x->named.sequence != y->named.sequence)
		return x->named.sequence < y->named.sequence ? -1 : 1;
	return strcmp(x->segment, y->segment);
}

void recordlisting_finish(struct recordlisting *l)
{
	if (l->n > 0)
		qsort(l->items, l->n, sizeof(*l->items), compare_segments);
}

/* The longest that begins there; NULL: none does. */
static const struct recordstored_range *find_from(const struct recordstored *s, uint64_t from)
{
	const struct recordstored_range *longest = NULL;

	for (size_t i = 0; i < s->n_ranges; i++) {
		const struct recordstored_range *range = &s->ranges[i];

		if (range->from == from && (longest == NULL || range->to > longest->to))
			longest = range;
	}
	return longest;
}

struct recordstored_range *recordstored_row(const struct recordstored *s, size_t *ret_n)
{
	struct recordstored_range *row = NULL;
	const struct recordstored_range *next = s != NULL ? find_from(s, 0) : NULL;
	size_t n = 0;

	while (next != NULL) {
		row = xreallocarray(row, n + 1, sizeof(*row));
		row[n++] = *next;
		next = find_from(s, next->to);
	}
	*ret_n = n;
	return row;
}

void recordstored_drop(struct recordstored *s, const struct recordstored_range *range)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_ranges; i++) {
		if (s->ranges[i].from != range->from || s->ranges[i].to != range->to)
			s->ranges[n++] = s->ranges[i];
	}
	s->n_ranges = n;
}

uint64_t recordstored_reach(const struct recordstored *s)
{
	size_t n;
	AUTO(free) struct recordstored_range *row = recordstored_row(s, &n);

	return n > 0 ? row[n - 1].to : 0;
}

enum recordplan_step recordplan_next(const struct recordplan_local *local,
                                     const struct recordstored *stored, bool tidies)
{
	uint64_t reach;

	if (stored != NULL && stored->is_whole)
		return tidies && stored->n_objects > 0 ? RECORDPLAN_CLEAR : RECORDPLAN_NOTHING;
	reach = recordstored_reach(stored);
	if (reach < local->bytes)
		return local->is_closed && reach == 0 ? RECORDPLAN_WHOLE : RECORDPLAN_PIECE;
	/* What is longer there than here was cut here after damage: what is there is the better one. */
	return tidies && local->is_closed && reach == local->bytes ? RECORDPLAN_WHOLE
	                                                           : RECORDPLAN_NOTHING;
}
