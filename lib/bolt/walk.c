/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bit for each page says whether its use is known by now. First the meta pages and the free ones
 * are marked, then each page as a cursor comes to it; a page that is marked already is in use
 * twice. Buckets in buckets are walked by recursion, which WALK_NESTING_MAX bounds.
 */
#include "bolt/walk.h"

#include <stdlib.h>

#include "base/mem.h"

#define HEADER_BYTES 16
#define IS_FREELIST 0x10u
#define COUNT_IS_FIRST 0xffffu /* the count is too large for its field, and is the first number */
#define N_METAS 2

struct walk {
	struct bolt *db;
	const struct walk_visitor *visitor;
	uint8_t *seen; /* a bit a page */
	struct walk_result result;
};

static int mark(struct walk *w, uint64_t page)
{
	uint8_t bit = (uint8_t) (1u << (page % 8));

	if (page >= w->result.n_pages)
		return bolt_fail(w->db, page, "it is outside of the file");
	if ((w->seen[page / 8] & bit) != 0)
		return bolt_fail(w->db, page, "it is in use twice, or in use and free");
	w->seen[page / 8] |= bit;
	return 0;
}

/* --- free pages --- */

struct freelist {
	uint64_t page;
	uint64_t offset; /* of the first number */
	uint64_t count;
};

static int read_freelist_header(struct walk *w, struct freelist *ret_list)
{
	const struct bolt_meta *meta = bolt_get_meta(w->db);
	struct freelist list = {.page = meta->freelist};
	uint64_t offset = list.page * meta->page_bytes;
	uint8_t header[HEADER_BYTES + 8];
	uint64_t n_bytes;
	uint32_t overflow;
	int r;

	r = bolt_read(w->db, offset, header, sizeof(header));
	if (r < 0)
		return r;
	overflow = bytes_le32(header + 12);
	if (bytes_le64(header) != list.page || bytes_le16(header + 8) != IS_FREELIST)
		return bolt_fail(w->db, list.page, "it is not the list of free pages");
	if (overflow >= meta->n_pages - list.page)
		return bolt_fail(w->db, list.page, "it goes on for %u pages, beyond the end of the file",
		                 overflow);
	n_bytes = ((uint64_t) overflow + 1) * meta->page_bytes - HEADER_BYTES;
	list.offset = offset + HEADER_BYTES;
	list.count = bytes_le16(header + 10);
	if (list.count == COUNT_IS_FIRST) {
		list.count = bytes_le64(header + HEADER_BYTES);
		list.offset += 8;
		n_bytes -= 8;
	}
	if (list.count > n_bytes / 8)
		return bolt_fail(w->db, list.page, "%llu free pages do not fit into it",
		                 (unsigned long long) list.count);
	for (uint64_t i = 0; i <= overflow; i++) {
		r = mark(w, list.page + i);
		if (r < 0)
			return r;
	}
	w->result.n_continued += overflow;
	*ret_list = list;
	return 0;
}

static int mark_free_pages(struct walk *w)
{
	struct freelist list = {0};
	uint8_t numbers[512 * 8];
	uint64_t done = 0;
	int r;

	if (bolt_get_meta(w->db)->freelist == BOLT_NO_FREELIST)
		return 0;
	r = read_freelist_header(w, &list);
	while (r >= 0 && done < list.count) {
		uint64_t n = MIN(list.count - done, sizeof(numbers) / 8);

		r = bolt_read(w->db, list.offset + done * 8, numbers, n * 8);
		for (uint64_t i = 0; i < n && r >= 0; i++)
			r = mark(w, bytes_le64(numbers + i * 8));
		done += n;
	}
	w->result.n_free = done;
	return r;
}

static uint64_t count_unseen(const struct walk *w, uint64_t *ret_first)
{
	uint64_t n = 0;

	for (uint64_t page = w->result.n_pages; page-- > 0;) {
		if ((w->seen[page / 8] & (1u << (page % 8))) == 0) {
			*ret_first = page;
			n++;
		}
	}
	return n;
}

/* A file without a list has them where nothing else is. With one, each page is known. */
static int account_for_rest(struct walk *w)
{
	uint64_t first = 0, n_unseen = count_unseen(w, &first);

	if (bolt_get_meta(w->db)->freelist == BOLT_NO_FREELIST)
		w->result.n_free = n_unseen;
	else if (n_unseen > 0)
		return bolt_fail(w->db, first, "it is neither in use nor in the list of free pages");
	return 0;
}

/* --- buckets --- */

static int on_page(const struct page *page, void *userdata)
{
	struct walk *w = userdata;

	for (uint32_t i = 0; i < page->n_pages; i++) {
		int r = mark(w, page->id + i);

		if (r < 0)
			return r;
	}
	if (page->n_pages == 0)
		return 0;
	w->result.n_continued += page->n_pages - 1;
	if (page->is_branch)
		w->result.n_branches++;
	else
		w->result.n_leaves++;
	return 0;
}

static int walk_bucket(struct walk *w, struct cursor *cursor, unsigned nesting);

static int visit(struct walk *w, struct cursor_entry *entry, unsigned nesting)
{
	const struct walk_visitor *v = w->visitor;
	struct cursor_entry shown;

	if (nesting == 0) {
		if (!entry->is_bucket)
			return bolt_fail(w->db, entry->page, "the root holds a key that is no bucket");
		return v->on_bucket != NULL ? v->on_bucket(entry->key, v->userdata) : 0;
	}
	if (nesting > 1 || v->on_entry == NULL)
		return 0;
	if (!entry->is_bucket)
		return v->on_entry(entry, v->userdata);
	shown = *entry;
	shown.value = (struct bytes){0};
	return v->on_entry(&shown, v->userdata);
}

static int enter(struct walk *w, const struct cursor_entry *entry, unsigned nesting)
{
	AUTO(cursor_free) struct cursor *inner = NULL;
	int r;

	if (nesting > WALK_NESTING_MAX)
		return bolt_fail(w->db, entry->page, "more than %d buckets in each other",
		                 WALK_NESTING_MAX);
	r = cursor_open_bucket(w->db, entry, &inner);
	if (r < 0)
		return r;
	w->result.n_buckets++;
	return walk_bucket(w, inner, nesting);
}

static int walk_bucket(struct walk *w, struct cursor *cursor, unsigned nesting)
{
	struct cursor_entry entry;
	int r;

	cursor_on_page(cursor, on_page, w);
	for (;;) {
		r = cursor_next(cursor, &entry);
		if (r <= 0)
			return r;
		r = visit(w, &entry, nesting);
		if (r >= 0 && entry.is_bucket)
			r = enter(w, &entry, nesting + 1);
		if (r < 0)
			return r;
	}
}

int walk_all(struct bolt *db, const struct walk_visitor *visitor, struct walk_result *ret_result)
{
	static const struct walk_visitor nobody = {0};
	AUTO(cursor_free) struct cursor *root = cursor_open_root(db);
	AUTO(free) uint8_t *seen = NULL;
	struct walk w = {.db = db, .visitor = visitor != NULL ? visitor : &nobody};
	int r = 0;

	w.result.n_pages = bolt_get_meta(db)->n_pages;
	seen = xcalloc(w.result.n_pages / 8 + 1, 1);
	w.seen = seen;
	bolt_pass_begin(db, "tree", true);
	for (uint64_t i = 0; i < N_METAS && r >= 0; i++)
		r = mark(&w, i);
	if (r >= 0)
		r = mark_free_pages(&w);
	if (r >= 0)
		r = walk_bucket(&w, root, 0);
	bolt_pass_end(db);
	if (r >= 0)
		r = account_for_rest(&w);
	if (r >= 0)
		*ret_result = w.result;
	return r;
}
