/* SPDX-License-Identifier: Apache-2.0 */
/* The listing is the only memory of what was uploaded: an object without a manifest was cut off,
 * and is uploaded again. Whose the manifests are is for recordheld.h. */
#include "etcdwatch/worker/record/recordplan.h"

#include <stdio.h>
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

/* Room for one more. Not one at a time: an allocator may copy all that is there each time. */
static void *grow(void *items, size_t n, size_t *room, size_t size)
{
	if (n < *room)
		return items;
	*room = MAX(2 * n, 16);
	return xreallocarray(items, *room, size);
}

void recordlisting_add(struct recordlisting *l, const struct recordkey *key)
{
	struct recordstored *s = l->n > 0 ? &l->items[l->n - 1] : NULL;

	if (s == NULL || strcmp(s->segment, key->segment) != 0) {
		l->items = grow(l->items, l->n, &l->room, sizeof(*l->items));
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
	s->ranges = grow(s->ranges, s->n_ranges, &s->ranges_room, sizeof(*s->ranges));
	s->ranges[s->n_ranges++] = (struct recordstored_range){.from = key->from, .to = key->to};
}

void recordlisting_move(struct recordlisting *l, struct recordlisting *from)
{
	l->room = l->n + from->n + 1;
	l->items = xreallocarray(l->items, l->room, sizeof(*l->items));
	if (from->n > 0)
		memcpy(l->items + l->n, from->items, from->n * sizeof(*l->items));
	l->n += from->n;
	free(from->items);
	*from = (struct recordlisting){0};
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_segments(const void *a, const void *b)
{
	const struct recordstored *x = a, *y = b;
	int r = compare_numbers(x->named.sequence, y->named.sequence);

	return r != 0 ? r : strcmp(x->segment, y->segment);
}

static int compare_ranges(const void *a, const void *b)
{
	const struct recordstored_range *x = a, *y = b;
	int r = compare_numbers(x->from, y->from);

	return r != 0 ? r : compare_numbers(y->to, x->to);
}

/* Of the same segment; frees `from`'s. */
static void merge(struct recordstored *s, struct recordstored *from)
{
	s->is_whole |= from->is_whole;
	s->n_objects += from->n_objects;
	if (from->n_ranges > 0) {
		s->ranges_room = s->n_ranges + from->n_ranges;
		s->ranges = xreallocarray(s->ranges, s->ranges_room, sizeof(*s->ranges));
		memcpy(s->ranges + s->n_ranges, from->ranges, from->n_ranges * sizeof(*s->ranges));
		s->n_ranges += from->n_ranges;
	}
	free(from->ranges);
}

/* Other stores than S3 list in an order of theirs, so a segment may be there several times. */
void recordlisting_finish(struct recordlisting *l)
{
	size_t n = 0;

	if (l->n > 0)
		qsort(l->items, l->n, sizeof(*l->items), compare_segments);
	for (size_t i = 0; i < l->n; i++) {
		if (n > 0 && compare_segments(&l->items[n - 1], &l->items[i]) == 0)
			merge(&l->items[n - 1], &l->items[i]);
		else
			l->items[n++] = l->items[i];
	}
	l->n = n;
	for (size_t i = 0; i < n; i++) {
		if (l->items[i].n_ranges > 0)
			qsort(l->items[i].ranges, l->items[i].n_ranges, sizeof(*l->items[i].ranges),
			      compare_ranges);
	}
}

struct recordstored *recordlisting_find(const struct recordlisting *l, uint64_t sequence,
                                        const char *segment)
{
	struct recordstored wanted = {.named.sequence = sequence};

	(void) snprintf(wanted.segment, sizeof(wanted.segment), "%s", segment);
	return l->n > 0 ? bsearch(&wanted, l->items, l->n, sizeof(*l->items), compare_segments) : NULL;
}

/* The longest that begins there; NULL: none does. */
static const struct recordstored_range *find_from(const struct recordstored *s, uint64_t from)
{
	const struct recordstored_range wanted = {.from = from, .to = UINT64_MAX};
	size_t low = 0, high = s->n_ranges;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_ranges(&s->ranges[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->n_ranges && s->ranges[low].from == from ? &s->ranges[low] : NULL;
}

struct recordstored_range *recordstored_row(const struct recordstored *s, size_t *ret_n)
{
	struct recordstored_range *row = NULL;
	const struct recordstored_range *next = s != NULL ? find_from(s, 0) : NULL;
	size_t n = 0, room = 0;

	while (next != NULL) {
		row = grow(row, n, &room, sizeof(*row));
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

bool recordstored_drop_last(struct recordstored *s)
{
	size_t n;
	AUTO(free) struct recordstored_range *row = recordstored_row(s, &n);
	bool has_one = s->is_whole || n > 0;

	if (!s->is_whole && n > 0)
		recordstored_drop(s, &row[n - 1]);
	s->is_whole = false;
	return has_one;
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
