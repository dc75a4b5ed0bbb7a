/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What fills a database: the bytes of keys and values, by the beginning of the keys, of all
 * revisions that the file has and of those keys that are alive. Two passes over the bucket; memory
 * for each key that is alive (mvcc.h) and for USAGE_PARTS_MAX beginnings.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bolt/bolt.h"
#include "bolt/bytes.h"

/* What comes when there are so many counts for none of them. */
#define USAGE_PARTS_MAX 4096
#define USAGE_DEPTH_MAX 16

struct usage_part {
	struct bytes prefix; /* the usage's */
	uint64_t bytes;      /* of all revisions */
	uint64_t changes;    /* how many those are, deletions too */
	uint64_t live_bytes;
	uint64_t keys; /* that are alive */
};

struct usage;

/*
 * Beginnings of `depth` components, which '/' ends: of "/registry/pods/a/b" and 2 "/registry/pods".
 * A key with no more than so many counts for what is before its last '/', or for itself if it has
 * none. 0, or as view_new(). The database is not needed any more.
 */
int usage_new(struct bolt *db, unsigned depth, struct usage **ret_usage);
void usage_free(struct usage *usage);
DEFINE_AUTO(struct usage, usage_free);

/* The largest first. */
size_t usage_count(const struct usage *usage);
const struct usage_part *usage_at(const struct usage *usage, size_t i);
/* What counts for none of them; its prefix is empty. */
const struct usage_part *usage_rest(const struct usage *usage);

/* Pure: how long the beginning is. */
size_t usage_prefix_len(struct bytes key, unsigned depth);

/*
 * The beginnings of keys that have the most bytes, counted as entries go by, in memory that does
 * not grow with them. The most frequent by the rule of Misra and Gries, with weights, reduced by
 * the median: when there is no room for another beginning, as much is taken from each as the middle
 * one has, and those that have no more are forgotten. So what is told of one is never too much, and
 * too little by no more than usagetop_missing(), which is 0 until USAGETOP_PARTS_MAX have been
 * seen, and never more than 1/512 of all. Pure.
 */

#define USAGETOP_PARTS_MAX 1024
/* What is longer is cut. */
#define USAGETOP_PREFIX_MAX 128

struct usagetop;

struct usagetop_part {
	struct bytes prefix; /* the counter's, until something is added */
	uint64_t bytes;
};

/* Of as many components as usage.h has them. */
struct usagetop *usagetop_new(unsigned depth);
void usagetop_free(struct usagetop *top);
DEFINE_AUTO(struct usagetop, usagetop_free);

/* An entry of this key, of so many bytes. */
void usagetop_add(struct usagetop *top, struct bytes key, uint64_t n_bytes);

uint64_t usagetop_all(const struct usagetop *top); /* bytes of whatever was added */
uint64_t usagetop_missing(const struct usagetop *top);

/* The largest first, at most `max`; how many. */
size_t usagetop_largest(const struct usagetop *top, struct usagetop_part *ret_parts, size_t max);
