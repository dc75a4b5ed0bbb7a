/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The open segment and the directory around it, as the thread of recordwriter.h works on them.
 * Everything here blocks, and is called by that thread, or while it has nothing to do.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "etcdwatch/record/recordwriter.h"
#include "etcdwatch/record/segment.h"

struct recordfile;

struct recordfile *recordfile_new(const struct recordwriter_options *options);
void recordfile_free(struct recordfile *file);
DEFINE_AUTO(struct recordfile, recordfile_free);

/* Reads the directory; whatever was open is left as it is, for this to mend. 0, or -errno with a
 * sentence. */
int recordfile_open(struct recordfile *file, char ret_reason[static RECORDWRITER_REASON_MAX]);
/* After that: what it has. The strings are borrowed until the next one, the history is handed over.
 */
void recordfile_found(struct recordfile *file, struct recordwriter_found *ret_found,
                      struct recordwriter_figures *ret_figures);

struct recordfile_work {
	struct record_buffer frames;
	struct record_header header; /* of a segment that must be begun for them */
	bool begins_chain;
	bool syncs;
	bool closes; /* the segment, behind the frames; syncs too */
	int64_t last_revision, reached_us;
	/* If a segment is begun or closed: for what may be removed. */
	int64_t base_revision;
	uint64_t unsent_sequence;
	/* What comes of it: */
	int r; /* 0, or -errno: -ENOSPC for the reserve too */
	char reason[RECORDWRITER_REASON_MAX];
	int64_t synced_us; /* how long that took; -1: it was not synced */
	uint64_t segment_bytes;
	char open_segment[RECORD_NAME_MAX]; /* recordwriter.h */
	uint64_t open_bytes;
	size_t n_segments, n_chains;
	uint64_t bytes;
	bool is_too_much, is_held; /* recordbase.h; as of the last time that some might go */
	uint64_t n_unsent;         /* that went; of all times */
};

void recordfile_do(struct recordfile *file, struct recordfile_work *work);
