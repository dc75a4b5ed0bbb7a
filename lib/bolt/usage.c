/* SPDX-License-Identifier: Apache-2.0 */
/* Parts are kept in the order of their beginnings while it counts, then by size. */
#include "bolt/usage.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "bolt/cursor.h"
#include "bolt/mvcc.h"

struct usage {
	unsigned depth;
	struct usage_part *parts[USAGE_PARTS_MAX];
	size_t n;
	struct usage_part rest;
};

void usage_free(struct usage *u)
{
	if (u == NULL)
		return;
	for (size_t i = 0; i < u->n; i++)
		free(u->parts[i]);
	free(u);
}

size_t usage_prefix_len(struct bytes key, unsigned depth)
{
	size_t last = 0;
	unsigned n = 0;

	/* One at the very beginning ends nothing. */
	for (size_t i = 1; i < key.len; i++) {
		if (key.data[i] != '/')
			continue;
		last = i;
		if (++n == depth)
			return i;
	}
	return last > 0 ? last : key.len;
}

/* Where it is, or where it would have to be. */
static size_t find(const struct usage *u, struct bytes prefix)
{
	size_t low = 0, high = u->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (bytes_compare(u->parts[middle]->prefix, prefix) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The bytes of its beginning stand behind it. */
static struct usage_part *part_new(struct bytes prefix)
{
	struct usage_part *part = xcalloc(1, sizeof(*part) + prefix.len + 1);
	uint8_t *copy = (uint8_t *) (part + 1);

	memcpy(copy, prefix.data, prefix.len);
	part->prefix = (struct bytes){.data = copy, .len = prefix.len};
	return part;
}

static struct usage_part *part_of(struct usage *u, struct bytes key)
{
	struct bytes prefix = {.data = key.data, .len = usage_prefix_len(key, u->depth)};
	size_t at = find(u, prefix);

	if (at < u->n && bytes_compare(u->parts[at]->prefix, prefix) == 0)
		return u->parts[at];
	if (u->n == USAGE_PARTS_MAX)
		return &u->rest;
	memmove(&u->parts[at + 1], &u->parts[at], (u->n - at) * sizeof(u->parts[0]));
	u->n++;
	u->parts[at] = part_new(prefix);
	return u->parts[at];
}

static int count_changes(struct usage *u, struct bolt *db)
{
	AUTO(cursor_free) struct cursor *c = NULL;
	struct cursor_entry raw;
	struct mvcc_entry entry;
	int r;

	r = cursor_open_named(db, MVCC_BUCKET, &c);
	while (r >= 0) {
		r = cursor_next(c, &raw);
		if (r <= 0)
			return r;
		r = mvcc_read(db, &raw, &entry);
		/* No client's, see mvcc.h. */
		if (r >= 0 && entry.kv.key.len > 0) {
			struct usage_part *part = part_of(u, entry.kv.key);

			part->bytes += entry.kv.key.len + entry.kv.value.len;
			part->changes++;
		}
	}
	return r;
}

static int count_live(struct usage *u, struct bolt *db)
{
	const struct view_match all = {.is_prefix = true};
	AUTO(view_free) struct view *view = NULL;
	int r;

	r = view_new(db, 0, &all, &view);
	if (r < 0)
		return r;
	for (size_t i = 0; i < view_count(view); i++) {
		const struct view_key *key = view_at(view, i);
		struct usage_part *part = part_of(u, key->key);

		part->live_bytes += key->key.len + key->value_len;
		part->keys++;
	}
	return 0;
}

static int compare_parts(const void *a, const void *b)
{
	const struct usage_part *left = *(struct usage_part *const *) a;
	const struct usage_part *right = *(struct usage_part *const *) b;

	if (left->bytes != right->bytes)
		return left->bytes > right->bytes ? -1 : 1;
	return bytes_compare(left->prefix, right->prefix);
}

int usage_new(struct bolt *db, unsigned depth, struct usage **ret_usage)
{
	AUTO(usage_free) struct usage *u = NEW0(struct usage);
	int r;

	u->depth = depth;
	r = count_changes(u, db);
	if (r >= 0)
		r = count_live(u, db);
	if (r < 0)
		return r;
	qsort(u->parts, u->n, sizeof(u->parts[0]), compare_parts);
	*ret_usage = TAKE_PTR(u);
	return 0;
}

size_t usage_count(const struct usage *u)
{
	return u->n;
}

const struct usage_part *usage_at(const struct usage *u, size_t i)
{
	return u->parts[i];
}

const struct usage_part *usage_rest(const struct usage *u)
{
	return &u->rest;
}

/* --- usagetop --- */

/* Parts lie in the order of their beginnings, so that one is found by halving. A reduction frees
 * half of them or more: what it costs is spread over as many that came in between. */

struct part {
	uint64_t bytes;
	size_t len;
	uint8_t prefix[USAGETOP_PREFIX_MAX];
};

struct usagetop {
	unsigned depth;
	struct part *parts[USAGETOP_PARTS_MAX];
	size_t n;
	uint64_t all, missing;
};

struct usagetop *usagetop_new(unsigned depth)
{
	struct usagetop *top = NEW0(struct usagetop);

	top->depth = depth;
	return top;
}

void usagetop_free(struct usagetop *top)
{
	if (top == NULL)
		return;
	for (size_t i = 0; i < top->n; i++)
		free(top->parts[i]);
	free(top);
}

static struct bytes prefix_of(const struct part *part)
{
	return (struct bytes){.data = part->prefix, .len = part->len};
}

/* Where it is, or where it would have to be. */
static size_t usagetop_find(const struct usagetop *top, struct bytes prefix)
{
	size_t low = 0, high = top->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (bytes_compare(prefix_of(top->parts[middle]), prefix) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int compare_counts(const void *a, const void *b)
{
	return COMPARE(*(const uint64_t *) a, *(const uint64_t *) b);
}

static uint64_t median(const struct usagetop *top)
{
	uint64_t counts[USAGETOP_PARTS_MAX];

	for (size_t i = 0; i < top->n; i++)
		counts[i] = top->parts[i]->bytes;
	qsort(counts, top->n, sizeof(counts[0]), compare_counts);
	return counts[top->n / 2];
}

/* At least half of them lose as much as the median, which bounds all that can ever be missing. */
static void reduce(struct usagetop *top)
{
	uint64_t less = median(top);
	size_t kept = 0;

	for (size_t i = 0; i < top->n; i++) {
		struct part *part = top->parts[i];

		if (part->bytes <= less) {
			free(part);
			continue;
		}
		part->bytes -= less;
		top->parts[kept++] = part;
	}
	top->n = kept;
	top->missing += less;
}

static void insert(struct usagetop *top, size_t at, struct bytes prefix, uint64_t n_bytes)
{
	struct part *part = NEW0(struct part);

	part->bytes = n_bytes;
	part->len = prefix.len;
	memcpy(part->prefix, prefix.data, prefix.len);
	memmove(&top->parts[at + 1], &top->parts[at], (top->n - at) * sizeof(top->parts[0]));
	top->parts[at] = part;
	top->n++;
}

void usagetop_add(struct usagetop *top, struct bytes key, uint64_t n_bytes)
{
	size_t len = usage_prefix_len(key, top->depth);
	struct bytes prefix = {.data = key.data, .len = MIN(len, (size_t) USAGETOP_PREFIX_MAX)};
	size_t at = usagetop_find(top, prefix);

	top->all += n_bytes;
	if (at < top->n && bytes_compare(prefix_of(top->parts[at]), prefix) == 0) {
		top->parts[at]->bytes += n_bytes;
		return;
	}
	if (top->n == USAGETOP_PARTS_MAX) {
		reduce(top);
		at = usagetop_find(top, prefix);
	}
	insert(top, at, prefix, n_bytes);
}

uint64_t usagetop_all(const struct usagetop *top)
{
	return top->all;
}

uint64_t usagetop_missing(const struct usagetop *top)
{
	return top->missing;
}

static int usagetop_compare_parts(const void *a, const void *b)
{
	const struct part *x = *(const struct part *const *) a;
	const struct part *y = *(const struct part *const *) b;

	if (x->bytes != y->bytes)
		return COMPARE(y->bytes, x->bytes);
	return bytes_compare(prefix_of(x), prefix_of(y));
}

size_t usagetop_largest(const struct usagetop *top, struct usagetop_part *ret_parts, size_t max)
{
	const struct part *parts[USAGETOP_PARTS_MAX];
	size_t n = MIN(top->n, max);

	for (size_t i = 0; i < top->n; i++)
		parts[i] = top->parts[i];
	qsort(parts, top->n, sizeof(parts[0]), usagetop_compare_parts);
	for (size_t i = 0; i < n; i++)
		ret_parts[i] =
		    (struct usagetop_part){.prefix = prefix_of(parts[i]), .bytes = parts[i]->bytes};
	return n;
}
