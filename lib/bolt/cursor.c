/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pages from the root of the bucket to where the cursor stands, one a level. `at` of the last
 * one (a leaf) is the element to return next; of those above (branches) the child that the level
 * below holds. All pages of the path stay loaded, so the keys that bound a page can be looked up
 * above it.
 */
#include "bolt/cursor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define AHEAD_BYTES ((uint64_t) 128 << 10)
/* Pages between two children that are read for nothing rather than that each child is read alone.
 */
#define AHEAD_GAP 4
#define AHEAD_CHILDREN 32
#define BUCKET_BYTES 16 /* u64 page of its root, u64 sequence; then perhaps an inline page */

struct level {
	struct page page;
	unsigned at;
};

struct cursor {
	struct bolt *db;
	uint64_t root; /* 0: the bucket is inline, and its one page stays in the first level */
	bool started;
	unsigned depth;   /* levels in use */
	uint64_t n_pages; /* that it has come by since its start */
	struct level levels[CURSOR_DEPTH_MAX];
	cursor_page_fn on_page;
	void *userdata;
};

/* --- going down --- */

/* The key that all keys below the last level must be less than; false: there is none. */
static bool upper_bound(const struct cursor *c, struct bytes *ret_key)
{
	for (unsigned i = c->depth; i-- > 0;) {
		const struct level *level = &c->levels[i];

		if (level->at + 1 < level->page.count) {
			*ret_key = page_key(&level->page, level->at + 1);
			return true;
		}
	}
	return false;
}

/* The page was loaded behind the last level. */
static int check_bounds(const struct cursor *c, const struct page *page)
{
	const struct level *parent = &c->levels[c->depth - 1];
	struct bytes upper;

	if (page->count == 0)
		return bolt_fail(c->db, page->id, "it is empty and below a branch");
	if (bytes_compare(page_key(page, 0), page_key(&parent->page, parent->at)) < 0)
		return bolt_fail(c->db, page->id,
		                 "its first key is below the one that leads to it (page %llu)",
		                 (unsigned long long) parent->page.id);
	if (upper_bound(c, &upper) && bytes_compare(page_key(page, page->count - 1), upper) >= 0)
		return bolt_fail(c->db, page->id, "its last key is not below the one behind it (page %llu)",
		                 (unsigned long long) parent->page.id);
	return 0;
}

static int announce(struct cursor *c, const struct page *page)
{
	bolt_pass_add(c->db, (uint64_t) page->n_pages * bolt_get_meta(c->db)->page_bytes);
	return c->on_page != NULL ? c->on_page(page, c->userdata) : 0;
}

/* n_ahead as for page_load() */
static int push(struct cursor *c, uint64_t id, uint64_t n_ahead)
{
	struct level *level;
	int r;

	if (c->depth == CURSOR_DEPTH_MAX)
		return bolt_fail(c->db, id, "the tree is deeper than %d pages", CURSOR_DEPTH_MAX);
	level = &c->levels[c->depth];
	r = page_load(c->db, id, n_ahead, &level->page);
	if (r < 0)
		return r;
	c->n_pages += level->page.n_pages;
	if (c->n_pages > bolt_get_meta(c->db)->n_pages)
		return bolt_fail(c->db, id, "it is in use twice, or lies in another one");
	if (c->depth > 0) {
		r = check_bounds(c, &level->page);
		if (r < 0)
			return r;
	} else if (level->page.is_branch && level->page.count == 0) {
		return bolt_fail(c->db, id, "a branch without children");
	}
	r = announce(c, &level->page);
	if (r < 0)
		return r;
	level->at = 0;
	c->depth++;
	return 0;
}

static void pop(struct cursor *c)
{
	page_drop_large(&c->levels[--c->depth].page);
}

static int start(struct cursor *c)
{
	c->started = true;
	c->n_pages = 0;
	if (c->root != 0) {
		while (c->depth > 0)
			pop(c);
		return push(c, c->root, 1);
	}
	c->levels[0].at = 0;
	c->depth = 1;
	return announce(c, &c->levels[0].page);
}

static bool is_buffered(const struct cursor *c, const struct level *parent)
{
	return c->depth < CURSOR_DEPTH_MAX &&
	       page_is_buffered(&c->levels[c->depth].page, page_child(&parent->page, parent->at));
}

/* How many pages to read with the child that is next: bbolt writes those of a branch mostly one
 * behind the other, with pages of others in between where it filled gaps. */
static uint64_t count_ahead(const struct cursor *c, const struct level *parent)
{
	uint64_t first = page_child(&parent->page, parent->at), last = first;
	uint64_t limit = AHEAD_BYTES / bolt_get_meta(c->db)->page_bytes;
	unsigned end = MIN(parent->page.count, parent->at + AHEAD_CHILDREN);

	for (unsigned i = parent->at + 1; i < end; i++) {
		uint64_t child = page_child(&parent->page, i);

		if (child > last && child - last <= AHEAD_GAP && child - first < limit)
			last = child;
	}
	return last - first + 1;
}

static int next_page(struct cursor *c)
{
	struct level *last = &c->levels[c->depth - 1];

	if (last->page.is_branch && last->at < last->page.count)
		return push(c, page_child(&last->page, last->at),
		            is_buffered(c, last) ? 1 : count_ahead(c, last));
	if (c->root != 0)
		pop(c);
	else
		c->depth = 0; /* its page stays */
	if (c->depth > 0)
		c->levels[c->depth - 1].at++;
	return 0;
}

int cursor_next(struct cursor *c, struct cursor_entry *ret_entry)
{
	int r;

	if (!c->started) {
		r = start(c);
		if (r < 0)
			return r;
	}
	while (c->depth > 0) {
		struct level *last = &c->levels[c->depth - 1];
		const struct page *page = &last->page;

		if (!page->is_branch && last->at < page->count) {
			unsigned i = last->at++;

			*ret_entry = (struct cursor_entry){
			    .key = page_key(page, i),
			    .value = page_value(page, i),
			    .is_bucket = page_is_bucket(page, i),
			    .ends_page = i + 1 == page->count,
			    .page = page->id,
			};
			return 1;
		}
		r = next_page(c);
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- seeking --- */

/* How many of the page's keys are less than `key`, or also those that are equal. */
static unsigned count_below(const struct page *page, struct bytes key, bool or_equal)
{
	unsigned low = 0, high = page->count;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;
		int order = bytes_compare(page_key(page, middle), key);

		if (order < 0 || (or_equal && order == 0))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int cursor_seek(struct cursor *c, struct bytes key)
{
	int r = start(c);

	while (r >= 0) {
		struct level *last = &c->levels[c->depth - 1];
		unsigned n;

		if (!last->page.is_branch) {
			last->at = count_below(&last->page, key, false);
			return 0;
		}
		n = count_below(&last->page, key, true);
		last->at = n > 0 ? n - 1 : 0;
		r = push(c, page_child(&last->page, last->at), 1);
	}
	return r;
}

int cursor_seek_last(struct cursor *c)
{
	int r = start(c);

	while (r >= 0) {
		struct level *last = &c->levels[c->depth - 1];

		last->at = last->page.count > 0 ? last->page.count - 1 : 0;
		if (!last->page.is_branch)
			return 0;
		r = push(c, page_child(&last->page, last->at), 1);
	}
	return r;
}

/* --- opening --- */

static struct cursor *new_cursor(struct bolt *db, uint64_t root)
{
	struct cursor *c = NEW0(struct cursor);

	c->db = db;
	c->root = root;
	return c;
}

void cursor_free(struct cursor *c)
{
	if (c == NULL)
		return;
	for (unsigned i = 0; i < CURSOR_DEPTH_MAX; i++)
		page_fini(&c->levels[i].page);
	free(c);
}

struct cursor *cursor_open_root(struct bolt *db)
{
	return new_cursor(db, bolt_get_meta(db)->root);
}

int cursor_open_bucket(struct bolt *db, const struct cursor_entry *entry,
                       struct cursor **ret_cursor)
{
	AUTO(cursor_free) struct cursor *c = NULL;
	struct bytes value = entry->value;
	int r;

	if (value.len < BUCKET_BYTES)
		return bolt_fail(db, entry->page, "a bucket in %zu bytes", value.len);
	c = new_cursor(db, bytes_le64(value.data));
	if (c->root != 0 && value.len != BUCKET_BYTES)
		return bolt_fail(db, entry->page, "a bucket with a page of its own in %zu bytes",
		                 value.len);
	if (c->root == 0) {
		struct bytes page = {.data = value.data + BUCKET_BYTES, .len = value.len - BUCKET_BYTES};

		r = page_load_inline(db, entry->page, page, &c->levels[0].page);
		if (r < 0)
			return r;
	}
	*ret_cursor = TAKE_PTR(c);
	return 0;
}

int cursor_open_named(struct bolt *db, const char *name, struct cursor **ret_cursor)
{
	AUTO(cursor_free) struct cursor *root = cursor_open_root(db);
	struct cursor_entry entry;
	int r;

	r = cursor_seek(root, bytes_of_text(name));
	if (r < 0)
		return r;
	r = cursor_next(root, &entry);
	if (r < 0)
		return r;
	if (r == 0 || !bytes_equal_text(entry.key, name))
		return -ENOENT;
	if (!entry.is_bucket)
		return bolt_fail(db, entry.page, "the root holds a key that is no bucket");
	return cursor_open_bucket(db, &entry, ret_cursor);
}

void cursor_on_page(struct cursor *c, cursor_page_fn fn, void *userdata)
{
	c->on_page = fn;
	c->userdata = userdata;
}

int cursor_get(struct bolt *db, const char *bucket, const char *key, void *buf, size_t size)
{
	AUTO(cursor_free) struct cursor *c = NULL;
	struct cursor_entry entry;
	int r;

	r = cursor_open_named(db, bucket, &c);
	if (r < 0)
		return r;
	r = cursor_seek(c, bytes_of_text(key));
	if (r < 0)
		return r;
	r = cursor_next(c, &entry);
	if (r < 0)
		return r;
	if (r == 0 || !bytes_equal_text(entry.key, key))
		return -ENOENT;
	if (entry.value.len > size)
		return bolt_fail(db, entry.page, "the value of '%s' has %zu bytes", key, entry.value.len);
	memcpy(buf, entry.value.data, entry.value.len);
	return (int) entry.value.len;
}
