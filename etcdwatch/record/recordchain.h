/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which segments of a directory belong together, and which of them may go. Pure. They are given in
 * the order of their sequence. A chain is what can be read without a break: each segment is closed,
 * and the next one goes on at the revision and from the digest with which it ends. Where segments
 * were removed, or something was lost, another chain begins.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "etcdwatch/record/segment.h"

/* What is known of a segment without reading all of it. */
struct record_segment {
	struct record_header header;
	uint64_t bytes;
	bool closed;
	/* With `closed`, from its END: */
	int64_t last_revision;
	int64_t end_us;
	uint8_t digest[DIGEST_SHA256_BYTES];
};

bool recordchain_goes_on(const struct record_segment *before, const struct record_segment *next);

/* The index of the first segment of the chain that the last segment is in; 0 if there is none. */
size_t recordchain_newest(const struct record_segment *segments, size_t n);
/* How many chains there are. */
size_t recordchain_count(const struct record_segment *segments, size_t n);

struct recordchain_rules {
	int64_t now_us;
	int64_t keep_us;    /* a segment that ended earlier may go */
	uint64_t max_bytes; /* of all of them: beyond, the oldest may go */
	/* The newest proven snapshot, which is rolled forward by what is behind it; 0: there is none.
	 */
	int64_t base_revision;
	uint64_t base_cluster_id;
	/* Segments from this sequence on are not in every target yet: age alone removes none of them.
	 * 0: all are. */
	uint64_t unsent_sequence;
};

struct recordchain_drop {
	size_t n;         /* so many, the oldest, go */
	size_t n_unsent;  /* of them, because of max_bytes and before they were in every target */
	bool is_too_much; /* more than max_bytes stay, because the snapshot needs them */
	bool is_held;     /* for that, or for its age, one should go that the snapshot needs */
};

/* The last segment always stays. */
struct recordchain_drop recordchain_drop(const struct record_segment *segments, size_t n,
                                         const struct recordchain_rules *rules);
