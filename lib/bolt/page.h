/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One page of a bbolt file in memory, with those that continue it: a branch (keys, and the pages
 * that hold what is from there on) or a leaf (keys with values, or with buckets). Once loaded,
 * all of it is known to be sound: every key and value lies inside, one behind the other without
 * gaps as bbolt writes them, and the keys ascend strictly.
 *
 * Layout, little-endian:
 *   header   u64 id, u16 flags (1 branch, 2 leaf), u16 count, u32 how many pages continue it
 *   branch   count times u32 pos, u32 key length, u64 page
 *   leaf     count times u32 flags (1 bucket), u32 pos, u32 key length, u32 value length
 *   then key and value of each in turn; pos counts from the element that holds it
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bolt/bolt.h"
#include "bolt/bytes.h"

/*
 * What is loaded at once, at most. bbolt puts at least two, and when they are large up to four keys
 * with their values into one leaf; etcd's values are limited by its --max-request-bytes (1.5 MiB by
 * default; it warns above 10 MiB).
 */
#define PAGE_LEAF_BYTES_MAX ((uint64_t) 64 << 20)
/* A branch has keys only, of 32 KiB at most. */
#define PAGE_BRANCH_BYTES_MAX ((uint64_t) 1 << 20)

#define PAGE_KEY_BYTES_MAX 32768

/* bbolt fills gaps, so a tree in order may go to and fro between a few parts of the file. */
#define PAGE_BUFFERS 4
/* Of those only the one in use is larger than that: else a file could have each of them, on each
 * level of a tree, as large as a page may be. */
#define PAGE_KEPT_BYTES_MAX ((size_t) 256 << 10)

struct page {
	uint64_t id;      /* of an inline bucket: the page that it is in */
	uint32_t n_pages; /* how many it takes up; 0: it is an inline bucket's */
	bool is_branch;
	unsigned count;
	const uint8_t *bytes; /* within a buffer */
	size_t n_bytes;       /* in use */

	/* What was read lately. It goes on behind the pages that were asked for, and those that come
	 * after them are taken from here. */
	struct page_buffer {
		uint8_t *bytes; /* owned */
		size_t n_bytes; /* grows with the largest page that was loaded */
		uint64_t first; /* the page that it begins with */
		uint64_t n_pages;
		uint64_t used_at; /* counts loads */
	} buffers[PAGE_BUFFERS];
	uint64_t n_loads;
};

/*
 * A zeroed struct is ready to be loaded into, again and again, and holds nothing. Where the file
 * has to be read, so many pages (at least 1) are read at once: for one who goes on to those behind.
 * The file must have them.
 */
int page_load(struct bolt *db, uint64_t id, uint64_t n_ahead, struct page *page);

/* Whether page_load() would not have to read the file, or only for what goes on behind. */
bool page_is_buffered(const struct page *page, uint64_t id);

/* The page of an inline bucket, copied from the value that it is in; `id` is the page of that. */
int page_load_inline(struct bolt *db, uint64_t id, struct bytes bytes, struct page *page);

/* The page is of no use any more, until another one is loaded: its buffers keep at most
 * PAGE_KEPT_BYTES_MAX each. */
void page_drop_large(struct page *page);

void page_fini(struct page *page);

/*
 * Element i < count. What is returned is valid until the next load. Every entry passes here several
 * times: inline.
 */

#define PAGE_HEADER_BYTES 16
#define PAGE_ELEMENT_BYTES 16
#define PAGE_ELEMENT_IS_BUCKET 1u

static inline const uint8_t *page_element(const struct page *page, unsigned i)
{
	return page->bytes + PAGE_HEADER_BYTES + (size_t) i * PAGE_ELEMENT_BYTES;
}

static inline struct bytes page_key(const struct page *page, unsigned i)
{
	const uint8_t *element = page_element(page, i), *place = element + (page->is_branch ? 0 : 4);

	return (struct bytes){.data = element + bytes_le32(place), .len = bytes_le32(place + 4)};
}

static inline uint64_t page_child(const struct page *page, unsigned i) /* of a branch */
{
	return bytes_le64(page_element(page, i) + 8);
}

static inline struct bytes page_value(const struct page *page, unsigned i) /* of a leaf */
{
	struct bytes key = page_key(page, i);

	return (struct bytes){.data = key.data + key.len,
	                      .len = bytes_le32(page_element(page, i) + 12)};
}

static inline bool page_is_bucket(const struct page *page, unsigned i) /* of a leaf */
{
	return bytes_le32(page_element(page, i)) == PAGE_ELEMENT_IS_BUCKET;
}
