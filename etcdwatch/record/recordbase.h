/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The snapshot that a chain of the record can be rolled forward from: one of the revision before
 * its first change, or of a later one. Whether somebody is to be asked to take one, and when again
 * if nobody could or it came to nothing. Pure; times are mono_now_us().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "etcdwatch/record/segment.h"

/* Nobody could take one just then. */
#define RECORDBASE_AGAIN_US (5 * INT64_C(1000000))
/* It was taken in vain: twice as long after each time, but no longer than this. */
#define RECORDBASE_PAUSE_MAX_US (300 * INT64_C(1000000))

enum recordbase_state {
	RECORDBASE_NONE,    /* there is no chain, or it has its snapshot */
	RECORDBASE_UNKNOWN, /* there may be one from earlier */
	RECORDBASE_WANTED,
	RECORDBASE_ASKED, /* it is being taken, or has been */
};

struct recordbase {
	enum recordbase_state state;
	int64_t revision;
	int64_t due_us;
	int64_t pause_us;
	int64_t renew_due_us;
};

/* A chain, or what is left of it. */
struct recordbase_chain {
	int64_t first_revision;
	int64_t first_us; /* wall clock */
	bool begins;      /* recording began there; else older segments were dropped */
};

/*
 * Whether a snapshot that was begun in that second, of that revision, may be of the history of the
 * chain. One from before the chain that has what comes later in it was taken of an etcd that was
 * rolled back since, or of one whose history the chain has missed. One from before, of the revision
 * behind which recording began, may be so too: nothing of it is recorded, to compare.
 */
bool recordbase_fits(int64_t started_s, int64_t revision, const struct recordbase_chain *chain);

/* A chain begins behind this revision: whatever snapshots there are may be of another history. */
void recordbase_begin(struct recordbase *base, int64_t revision);
/* One from earlier goes on, which began behind it. */
void recordbase_go_on(struct recordbase *base, int64_t revision);

/* A newer one is wanted, as the one that there is holds too much of the record. Not more often than
 * each RECORDBASE_PAUSE_MAX_US, nor while one is asked for anyway. */
void recordbase_renew(struct recordbase *base, int64_t revision, int64_t newest, int64_t now_us);

/* Somebody is to be asked now. newest: the revision of the newest snapshot; 0: none is known. */
bool recordbase_is_due(struct recordbase *base, int64_t newest, int64_t now_us);
/* That was done, and whether he does it. */
void recordbase_asked(struct recordbase *base, bool is_taken, int64_t now_us);
/* He has failed. */
void recordbase_failed(struct recordbase *base, int64_t now_us);

/* --- recordchain --- */

/*
 * Which segments of a directory belong together, and which of them may go. Pure. They are given in
 * the order of their sequence. A chain is what can be read without a break: each segment is closed,
 * and the next one goes on at the revision and from the digest with which it ends. Where segments
 * were removed, or something was lost, another chain begins.
 */

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
