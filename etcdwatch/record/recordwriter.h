/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The record's side of the disk: a thread (disk.h) that appends frames, syncs, closes segments and
 * removes old ones, in the order in which it is asked. The loop puts frames into a batch while the
 * one before it is being written; how much may wait is bounded, and whoever puts more must stop
 * until there is room. What is put is on the disk for certain within one and a half times
 * RECORDWRITER_SYNC_US and the time that a write and a sync take. Once something fails, nothing is
 * written any more until it is opened again, which believes only what had been synced.
 */

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/mono.h"
#include "etcdwatch/record/recordhistory.h"
#include "etcdwatch/record/segment.h"

#define RECORDWRITER_SYNC_US (400 * US_PER_MS)
#define RECORDWRITER_WAITING_BYTES_MAX ((size_t) 32 << 20) /* and what one revision has */
#define RECORDWRITER_REASON_MAX 512

struct recordwriter;

struct recordwriter_options {
	struct ev_loop *ev;
	const char *directory;
	int64_t keep_us;
	uint64_t max_bytes;
	uint64_t reserve_bytes; /* must stay free on the disk */
	/* A segment is closed when it has so much, or is so old. */
	uint64_t segment_bytes;
	int64_t segment_us;
};

/* What the directory had. */
struct recordwriter_found {
	bool has_chain; /* the newest segment can be gone on from */
	uint64_t cluster_id;
	int64_t last_revision;
	/* Up to that revision; NULL: not known. Freed after opened(), which may take it. */
	struct recordhistory *history;
	uint64_t n_cut;
	const char *damage;        /* a sentence, or "" */
	struct record_header lost; /* recorddir.h */
};

/* As of the last batch that is written. */
struct recordwriter_figures {
	size_t n_segments, n_chains; /* on the disk; the open one too */
	uint64_t bytes;
	bool is_too_much;  /* more than max_bytes: the snapshot needs them */
	bool is_held;      /* so it is, or they are older than is wanted: a newer one would help */
	uint64_t n_unsent; /* segments that were removed before every target had them */
	/* The chain that is being written; last_revision and reached_us are synced. */
	int64_t first_revision, first_us;
	bool begins; /* recording began there; else older segments were dropped */
	int64_t last_revision;
	int64_t reached_us; /* wall clock; until then all is on the disk; 0: nothing is */
	/* As of that: the file of the open segment, "" when all are closed, and its synced bytes. */
	char open_segment[RECORD_NAME_MAX];
	uint64_t open_bytes;
	int64_t sync_us; /* how long the last sync took */
	uint64_t n_syncs;
};

struct recordwriter_callbacks {
	void (*opened)(struct recordwriter_found *found, void *userdata);
	/* Opening, or writing, has failed; what was put and not yet written is gone. */
	void (*failed)(int r, const char *reason, void *userdata);
	/* There is room again after recordwriter_is_full(). */
	void (*room)(void *userdata);
	/* A segment has been closed. The writer must not be freed inside it: room() may follow. */
	void (*closed)(void *userdata);
	/* The newest proven snapshot of this cluster on this node; 0: there is none. */
	int64_t (*base_revision)(uint64_t cluster_id, void *userdata);
	/* From which sequence on a target lacks segments; 0: none does. NULL: there are no targets. */
	uint64_t (*unsent_sequence)(void *userdata);
};

/* Strings and callbacks are borrowed. 0, or -errno: the thread cannot be started. */
int recordwriter_new(const struct recordwriter_options *options,
                     const struct recordwriter_callbacks *callbacks, void *userdata,
                     struct recordwriter **ret_writer);
/* Waits for the disk; what waits for it is dropped. */
void recordwriter_free(struct recordwriter *writer);
DEFINE_AUTO(struct recordwriter, recordwriter_free);

/* Looks at the directory, and mends its end; answered by opened() or failed(). Not while it is at
 * it, and after a failure no sooner than that was told. */
void recordwriter_open(struct recordwriter *writer);

/* Of what follows: where it comes from. first_revision: the next one that will be put. */
struct recordwriter_chain {
	uint64_t cluster_id;
	uint64_t member_id;
	const char *member; /* name; copied */
	int64_t first_revision;
	bool begins; /* not a continuation of what the directory has */
};
void recordwriter_begin(struct recordwriter *writer, const struct recordwriter_chain *chain);
/* Another member is recorded from: from the next segment on. */
void recordwriter_set_member(struct recordwriter *writer, uint64_t id, const char *name);

/* Not before recordwriter_begin(). -E2BIG: larger than a frame may be. */
int recordwriter_put(struct recordwriter *writer, const struct record_frame *frame);
bool recordwriter_is_full(const struct recordwriter *writer);
/* Closes the segment behind what was put. After a GAP recordwriter_begin() must follow. */
void recordwriter_close(struct recordwriter *writer);

struct recordwriter_figures recordwriter_figures(const struct recordwriter *writer);
