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

struct page {
	uint64_t id;      /* of an inline bucket: the page that it is in */
	uint32_t n_pages; /* how many it takes up; 0: it is an inline bucket's */
	bool is_branch;
	unsigned count;
	uint8_t *bytes;  /* owned */
	size_t n_bytes;  /* in use */
	size_t capacity; /* grows with the largest that was loaded */
};

/* A zeroed struct is ready to be loaded into, again and again, and holds nothing. */
int page_load(struct bolt *db, uint64_t id, struct page *page);

/* The page of an inline bucket, copied from the value that it is in; `id` is the page of that. */
int page_load_inline(struct bolt *db, uint64_t id, struct bytes bytes, struct page *page);

void page_fini(struct page *page);

/* i < count. What is returned is valid until the next load. */
struct bytes page_key(const struct page *page, unsigned i);
uint64_t page_child(const struct page *page, unsigned i);     /* of a branch */
struct bytes page_value(const struct page *page, unsigned i); /* of a leaf */
bool page_is_bucket(const struct page *page, unsigned i);     /* of a leaf */
