/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The segments in a directory, as the daemon finds them when it starts: of closed ones only header
 * and end are read; the last one is read whole, cut behind its last whole frame and closed, so that
 * the record can go on from there. Blocking: for a thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "etcdwatch/record/recordbase.h"
#include "etcdwatch/record/recordhistory.h"

#define RECORDDIR_SEGMENTS_MAX 10000
#define RECORDDIR_REASON_MAX 512

struct recorddir {
	struct record_segment *segments; /* in the order of their sequence */
	size_t n;
	/* What the last segment, which may have had to be closed, says besides: */
	int64_t reached_us; /* when all up to its last revision had been seen */
	bool has_gap;       /* it ends its chain */
	uint64_t n_cut;     /* bytes that did not count */
	/* Of the newest chain, up to its last revision; NULL: it cannot be read. Owned. */
	struct recordhistory *history;
	/* The newest file that was set aside, by its name, unless a later segment follows it: its
	 * changes are lost, and no GAP says so yet. A sequence of 0: there is none. */
	struct record_header lost;
	/* A sentence, when the last segment was damaged before its end: what was behind that is among
	 * the bytes that are cut; or a file is passed over because it cannot be read. "" else. */
	char damage[RECORD_FAULT_MAX];
};

/* What was known for certain to be on the disk when writing failed; a path of NULL: nothing is
 * known. Nothing behind it is believed. */
struct recorddir_certain {
	const char *path;
	uint64_t bytes;
};

/* Makes the directory if only its last part is missing. 0, or -errno with a sentence. */
int recorddir_open(const char *directory, const struct recorddir_certain *certain,
                   struct recorddir *ret_dir, char ret_reason[static RECORDDIR_REASON_MAX]);
void recorddir_fini(struct recorddir *dir);

void recorddir_add(struct recorddir *dir, const struct record_segment *segment);
/* Removes the oldest `n`. */
int recorddir_drop(struct recorddir *dir, const char *directory, size_t n,
                   char ret_reason[static RECORDDIR_REASON_MAX]);

/* Makes sure that names in it are on the disk. */
int recorddir_sync(const char *directory);
