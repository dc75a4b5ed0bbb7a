/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What is to be done with one segment of this node in a target, from what is on the disk and what
 * the target lists. Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "etcdwatch/worker/record/recordpiece.h"

/* The objects of one segment in a target. {0} is none. */
struct recordstored {
	char segment[RECORD_NAME_MAX];
	struct record_header named;
	bool begins; /* a chain */
	struct recordstored_range {
		uint64_t from, to;
	} * ranges; /* of manifests; by where they begin, the longest first */
	size_t n_ranges, ranges_room;
	size_t n_objects; /* but "whole.json" and its object */
	bool is_whole;    /* its manifest is there */
};

/* All segments of one node in a target, in the order of their sequence. {0} is none. */
struct recordlisting {
	struct recordstored *items;
	size_t n, room;
};

void recordlisting_fini(struct recordlisting *listing);
/* What was listed, in any order; in that of the keys it takes the least memory. */
void recordlisting_add(struct recordlisting *listing, const struct recordkey *key);
void recordlisting_finish(struct recordlisting *listing);
/* Takes all of `from`, which is {0} then; before recordlisting_finish(). */
void recordlisting_move(struct recordlisting *listing, struct recordlisting *from);
/* NULL: nothing of it is there. */
struct recordstored *recordlisting_find(const struct recordlisting *listing, uint64_t sequence,
                                        const char *segment);

/* Up to there pieces follow each other from the first byte on; NULL: 0. */
uint64_t recordstored_reach(const struct recordstored *stored);

/* The pieces that lead there, in order; each is taken that reaches furthest. To be freed; NULL:
 * none. */
struct recordstored_range *recordstored_row(const struct recordstored *stored, size_t *ret_n);

/* That manifest counts for nothing. */
void recordstored_drop(struct recordstored *stored, const struct recordstored_range *range);
/* The same of the one that is whole, or else of the last in the row; false: there is none. */
bool recordstored_drop_last(struct recordstored *stored);

/* Of a segment with more manifests that are refused, none counts. */
#define RECORDSTORED_REFUSED_MAX 100

/* What a segment has on the disk: bytes that are synced. */
struct recordplan_local {
	uint64_t bytes;
	bool is_closed;
};

enum recordplan_step {
	RECORDPLAN_NOTHING,
	RECORDPLAN_PIECE, /* the bytes from recordstored_reach() on */
	RECORDPLAN_WHOLE, /* all of it, as one object */
	RECORDPLAN_CLEAR, /* the pieces, which that object replaces, are removed */
};

/* First, what is not in the target in any form; only when no segment lacks that, what makes its
 * objects fewer (`tidies`), so that this does not delay new changes. */
enum recordplan_step recordplan_next(const struct recordplan_local *local,
                                     const struct recordstored *stored, bool tidies);
