/* SPDX-License-Identifier: Apache-2.0 */
/* Parts are kept in the order of their beginnings while it counts, then by size. */
#include "bolt/usage.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "bolt/cursor.h"
#include "bolt/mvcc.h"
#include "bolt/view.h"

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
