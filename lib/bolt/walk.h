/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The check of a whole bbolt file: every bucket, every page that can be reached, each of them once;
 * the list of free pages, if the file has one; and what the pages themselves promise (page.h,
 * cursor.h). A file that passes can be read by bbolt without a surprise.
 *
 * Whoever wants to see the content meanwhile gives a visitor: reading is what takes the time.
 * Memory: a bit a page, and what a cursor needs.
 */

#include <stdint.h>

#include "bolt/bolt.h"
#include "bolt/bytes.h"
#include "bolt/cursor.h"

/* Buckets in buckets. etcd has one level of them. */
#define WALK_NESTING_MAX 8

struct walk_result {
	uint64_t n_pages;    /* of the file, the meta pages included */
	uint64_t n_free;     /* those that hold nothing */
	uint64_t n_branches; /* pages, without those that continue one */
	uint64_t n_leaves;
	uint64_t n_continued; /* pages that continue another */
	uint64_t n_buckets;   /* of all levels */
};

/* Either may be NULL. A negative answer ends the walk with it. What they are given is theirs until
 * they return. */
struct walk_visitor {
	/* An outermost bucket begins. */
	int (*on_bucket)(struct bytes name, void *userdata);
	/* A key in it, in order; a bucket in it comes as an entry without a value. */
	int (*on_entry)(const struct cursor_entry *entry, void *userdata);
	void *userdata;
};

int walk_all(struct bolt *db, const struct walk_visitor *visitor, struct walk_result *ret_result);
