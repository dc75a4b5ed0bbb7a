/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A walk through one bucket in the order of its keys. What it passes it checks: each page by
 * page.h, and that its keys lie between those of the branches above it. So the keys that a cursor
 * returns ascend strictly, whatever the file says; and as a page that is reached twice would have
 * to hold keys of two places, a walk ends after as many pages as there are, also in a file that was
 * made to run in circles. Pages may not lie in each other either: all together are no more than the
 * file has.
 *
 * Memory: one page a level, at most CURSOR_DEPTH_MAX levels, of which only the last is a leaf; and
 * on each what was read ahead, PAGE_BUFFERS times 256 KiB at most.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bolt/bolt.h"
#include "bolt/bytes.h"
#include "bolt/page.h"

/* A branch of a healthy tree has at least two children. */
#define CURSOR_DEPTH_MAX 32

struct cursor_entry {
	struct bytes key;
	struct bytes value; /* of a bucket: only for cursor_open_bucket() */
	bool is_bucket;
	bool ends_page; /* it is the last one there */
	uint64_t page;  /* where it stands */
};

struct cursor;

/*
 * The bucket that holds the other buckets; the bucket in an entry of another cursor (which is
 * copied and may go on); one of the outermost buckets by its name, -ENOENT if there is none, which
 * is no fault. The database is borrowed until cursor_free(). Each cursor stands before the first
 * key.
 */
struct cursor *cursor_open_root(struct bolt *db);
int cursor_open_bucket(struct bolt *db, const struct cursor_entry *entry,
                       struct cursor **ret_cursor);
int cursor_open_named(struct bolt *db, const char *name, struct cursor **ret_cursor);
void cursor_free(struct cursor *cursor);
DEFINE_AUTO(struct cursor, cursor_free);

/* 1 and the next entry, valid until the cursor goes on from the last one of its page, or is used
 * otherwise; 0 behind the last one of all; or an error. */
int cursor_next(struct cursor *cursor, struct cursor_entry *ret_entry);

/* Goes to before the first key that is not less than this one. */
int cursor_seek(struct cursor *cursor, struct bytes key);

/* Goes to before the last key; behind it, if there is none. */
int cursor_seek_last(struct cursor *cursor);

/* Called for each page that the cursor comes to, before what it holds; a negative answer ends the
 * walk with it. */
typedef int (*cursor_page_fn)(const struct page *page, void *userdata);
void cursor_on_page(struct cursor *cursor, cursor_page_fn fn, void *userdata);

/* The value of `key` in one of the outermost buckets, copied into buf: its length, -ENOENT if there
 * is no such key or bucket, -EBADMSG and a fault if it is longer than `size`. */
int cursor_get(struct bolt *db, const char *bucket, const char *key, void *buf, size_t size);
