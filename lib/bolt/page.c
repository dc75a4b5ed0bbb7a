/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading a page is where damage is found: all that later code takes for granted is checked here,
 * once, in one pass over the elements. bbolt writes keys and values without gaps, so each position
 * is known before it is read, and a wrong bit in a position or a length cannot hide.
 */
#include "bolt/page.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define IS_BRANCH 1u
#define IS_LEAF 2u
/* bbolt keeps this count for a long list of free pages. */
#define COUNT_MAX 0xfffeu

/* A leaf's element as it stands in the page, and a branch's in the same words. */
struct element {
	uint32_t flags;
	uint32_t pos;
	uint32_t key_len;
	uint32_t value_len;
	uint64_t child;
};

static struct element read_element(const struct page *page, unsigned i)
{
	const uint8_t *p = page_element(page, i);

	if (page->is_branch)
		return (struct element){
		    .pos = bytes_le32(p),
		    .key_len = bytes_le32(p + 4),
		    .child = bytes_le64(p + 8),
		};
	return (struct element){
	    .flags = bytes_le32(p),
	    .pos = bytes_le32(p + 4),
	    .key_len = bytes_le32(p + 8),
	    .value_len = bytes_le32(p + 12),
	};
}

/* --- what was loaded is sound --- */

/* Checks element i, whose key is to begin `at` bytes into the page; returns where its value ends.
 */
static int check_element(struct bolt *db, const struct page *page, unsigned i, size_t at,
                         size_t *ret_end)
{
	struct element e = read_element(page, i);
	size_t begins = PAGE_HEADER_BYTES + (size_t) i * PAGE_ELEMENT_BYTES;

	if (e.flags > PAGE_ELEMENT_IS_BUCKET)
		return bolt_fail(db, page->id, "element %u has unknown flags 0x%x", i, e.flags);
	if (begins + e.pos != at)
		return bolt_fail(db, page->id, "element %u is at %zu and not at %zu, behind the one before",
		                 i, begins + e.pos, at);
	if (e.key_len == 0 || e.key_len > PAGE_KEY_BYTES_MAX)
		return bolt_fail(db, page->id, "the key of element %u has %u bytes", i, e.key_len);
	if ((uint64_t) e.key_len + e.value_len > page->n_bytes - at)
		return bolt_fail(db, page->id, "element %u reaches beyond the end of the page", i);
	if (page->is_branch && (e.child < 2 || (e.child >= bolt_get_meta(db)->n_pages)))
		return bolt_fail(db, page->id, "element %u leads to page %llu, outside of the file", i,
		                 (unsigned long long) e.child);
	*ret_end = at + e.key_len + e.value_len;
	return 0;
}

/* Returns where the last value ends. */
static int check_elements(struct bolt *db, const struct page *page, size_t *ret_end)
{
	size_t at = PAGE_HEADER_BYTES + (size_t) page->count * PAGE_ELEMENT_BYTES;
	struct bytes before = {0};

	if (at > page->n_bytes)
		return bolt_fail(db, page->id, "%u elements do not fit into the page", page->count);
	for (unsigned i = 0; i < page->count; i++) {
		struct bytes key;
		int r = check_element(db, page, i, at, &at);

		if (r < 0)
			return r;
		key = page_key(page, i);
		if (i > 0 && bytes_compare(before, key) >= 0)
			return bolt_fail(db, page->id, "the key of element %u is not above the one before", i);
		before = key;
	}
	*ret_end = at;
	return 0;
}

static int check_kind(struct bolt *db, struct page *page)
{
	uint16_t flags = bytes_le16(page->bytes + 8);

	if (flags != IS_BRANCH && flags != IS_LEAF)
		return bolt_fail(db, page->id, "neither a branch nor a leaf: flags 0x%x", flags);
	page->is_branch = flags == IS_BRANCH;
	page->count = bytes_le16(page->bytes + 10);
	if (page->count > COUNT_MAX)
		return bolt_fail(db, page->id, "it claims %u elements", page->count);
	return 0;
}

/* --- loading --- */

static void make_room(struct page_buffer *buffer, size_t n_bytes)
{
	if (n_bytes > buffer->n_bytes) {
		buffer->bytes = xreallocarray(buffer->bytes, n_bytes, 1);
		buffer->n_bytes = n_bytes;
	}
}

/* All of them but `used`; NULL: all. */
static void drop_large(struct page *page, const struct page_buffer *used)
{
	for (unsigned i = 0; i < PAGE_BUFFERS; i++) {
		struct page_buffer *buffer = &page->buffers[i];

		if (buffer == used || buffer->n_bytes <= PAGE_KEPT_BYTES_MAX)
			continue;
		free(buffer->bytes);
		*buffer = (struct page_buffer){0};
	}
}

void page_drop_large(struct page *page)
{
	drop_large(page, NULL);
}

static bool holds(const struct page_buffer *buffer, uint64_t id)
{
	return id >= buffer->first && id - buffer->first < buffer->n_pages;
}

bool page_is_buffered(const struct page *page, uint64_t id)
{
	for (unsigned i = 0; i < PAGE_BUFFERS; i++) {
		if (holds(&page->buffers[i], id))
			return true;
	}
	return false;
}

/* The buffer that holds this page; if there is none, the one that was of no use for longest, and
 * empty. */
static struct page_buffer *choose_buffer(struct page *page)
{
	struct page_buffer *oldest = &page->buffers[0];

	for (unsigned i = 0; i < PAGE_BUFFERS; i++) {
		struct page_buffer *buffer = &page->buffers[i];

		if (holds(buffer, page->id))
			return buffer;
		if (buffer->used_at < oldest->used_at)
			oldest = buffer;
	}
	oldest->first = page->id;
	oldest->n_pages = 0;
	return oldest;
}

/* Has so many pages from this one on in a buffer; if some are not, reads as many as are wanted. */
static int fetch(struct bolt *db, struct page *page, uint64_t n_needed, uint64_t n_wanted)
{
	const size_t page_bytes = bolt_get_meta(db)->page_bytes;
	struct page_buffer *buffer = choose_buffer(page);
	size_t skipped = (page->id - buffer->first) * page_bytes;
	uint64_t n_there = buffer->n_pages - (page->id - buffer->first);
	int r;

	buffer->used_at = ++page->n_loads;
	if (n_there < n_needed) {
		drop_large(page, buffer);
		make_room(buffer, n_wanted * page_bytes);
		memmove(buffer->bytes, buffer->bytes + skipped, n_there * page_bytes);
		skipped = 0;
		buffer->first = page->id;
		buffer->n_pages = n_there;
		r = bolt_read(db, (page->id + n_there) * page_bytes, buffer->bytes + n_there * page_bytes,
		              (n_wanted - n_there) * page_bytes);
		if (r < 0)
			return r;
		buffer->n_pages = n_wanted;
	}
	page->bytes = buffer->bytes + skipped;
	page->n_bytes = n_needed * page_bytes;
	return 0;
}

/* The header is loaded: how many pages there are. */
static int measure(struct bolt *db, struct page *page)
{
	const struct bolt_meta *meta = bolt_get_meta(db);
	uint64_t id = bytes_le64(page->bytes);
	uint32_t overflow = bytes_le32(page->bytes + 12);
	uint64_t limit = page->is_branch ? PAGE_BRANCH_BYTES_MAX : PAGE_LEAF_BYTES_MAX;
	uint64_t n_bytes = ((uint64_t) overflow + 1) * meta->page_bytes;

	if (id != page->id)
		return bolt_fail(db, page->id, "it says that it is page %llu", (unsigned long long) id);
	if (overflow >= meta->n_pages - page->id)
		return bolt_fail(db, page->id, "it goes on for %u pages, beyond the end of the file",
		                 overflow);
	if (n_bytes > limit)
		return bolt_fail(db, page->id, "it has %llu bytes; this program takes %llu",
		                 (unsigned long long) n_bytes, (unsigned long long) limit);
	page->n_pages = overflow + 1;
	return 0;
}

int page_load(struct bolt *db, uint64_t id, uint64_t n_ahead, struct page *page)
{
	const struct bolt_meta *meta = bolt_get_meta(db);
	size_t end = 0;
	int r;

	if (id < 2 || id >= meta->n_pages)
		return bolt_fail(db, id, "it is outside of the file");
	page->id = id;
	r = fetch(db, page, 1, n_ahead);
	if (r < 0)
		return r;
	r = check_kind(db, page);
	if (r < 0)
		return r;
	r = measure(db, page);
	if (r < 0)
		return r;
	r = fetch(db, page, page->n_pages, page->n_pages);
	if (r < 0)
		return r;
	r = check_elements(db, page, &end);
	if (r < 0)
		return r;
	/* bbolt before 1.3 took a page more than it needed when it came out even. */
	if (end < page->n_bytes - meta->page_bytes)
		return bolt_fail(db, id, "it takes up %u pages and needs %zu bytes", page->n_pages, end);
	return 0;
}

int page_load_inline(struct bolt *db, uint64_t id, struct bytes bytes, struct page *page)
{
	size_t end = 0;
	int r;

	page->id = id;
	page->n_pages = 0;
	/* bbolt gives a bucket pages of its own before it has a quarter of one. */
	if (bytes.len < PAGE_HEADER_BYTES || bytes.len > bolt_get_meta(db)->page_bytes)
		return bolt_fail(db, id, "an inline bucket of %zu bytes", bytes.len);
	make_room(&page->buffers[0], bytes.len);
	memcpy(page->buffers[0].bytes, bytes.data, bytes.len);
	page->buffers[0].n_pages = 0;
	page->bytes = page->buffers[0].bytes;
	page->n_bytes = bytes.len;
	r = check_kind(db, page);
	if (r < 0)
		return r;
	if (page->is_branch || bytes_le64(page->bytes) != 0 || bytes_le32(page->bytes + 12) != 0)
		return bolt_fail(db, id, "an inline bucket that is not one leaf");
	r = check_elements(db, page, &end);
	if (r < 0)
		return r;
	if (end != bytes.len)
		return bolt_fail(db, id, "an inline bucket of %zu bytes that needs %zu", bytes.len, end);
	return 0;
}

void page_fini(struct page *page)
{
	for (unsigned i = 0; i < PAGE_BUFFERS; i++)
		free(page->buffers[i].bytes);
	*page = (struct page){0};
}
