/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a rebuild (rebuild.h) begins with: which revision is meant, in which history, which
 * snapshot, and which chain of the record; or a refusal that says what can be had instead.
 */

#include <jansson.h>
#include <stdint.h>

#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/rebuild/chains.h"
#include "etcdwatch/worker/rebuild/rebuild.h"
#include "etcdwatch/worker/rebuild/rebuildpick.h"

/*
 * Whether the disk has room for what a rebuild makes, told before it begins: the result is at most
 * about as large as the snapshot and what was recorded behind it, and a snapshot that is packed, or
 * elsewhere, needs room beside it.
 */

struct rebuildroom {
	uint64_t fetched_bytes;  /* of the snapshot's file, if it is fetched; 0 */
	uint64_t unpacked_bytes; /* of its database, if it has to be unpacked; 0 */
	uint64_t base_bytes;     /* of its database */
	uint64_t record_bytes;
};

/* Of the file system that the file is to be on. 0; or -ENOSPC and NO_SPACE, with all of it in MB;
 * what cannot be told is room enough. */
int rebuildroom_check(const struct rebuildroom *room, const char *output, struct problem *problem);

/* Which of the histories that have a revision is meant, and what the worker tells of them. */

/* The newest; as a number it is the first. */
#define REBUILDHISTORY_LATEST 1

struct rebuildhistory_list {
	struct rebuildpick picks[REBUILDPICK_HISTORIES_MAX]; /* the newest first */
	size_t n;
	/* For the text: whose they are, and the snapshots' names. Borrowed. */
	const struct rebuildpick_world *world;
	const struct chains *chains;
	char *const *names; /* as many as there are bases; NULL: they are not known yet */
};

struct rebuildchoice {
	struct chains *chains;     /* of which `chain` is one */
	const struct chain *chain; /* NULL: the snapshot is all that it takes */
	int64_t revision;
	struct source *base; /* proven */
	json_t *history;     /* rebuildchoice.h */
	size_t n_histories;  /* that have the revision */
};

/* `base` says also where to unpack. What it returns is the caller's to free, also on failure. */
int rebuildchoice_make(const struct rebuild_request *request, const struct source_request *base,
                       struct problem *problem, struct rebuildchoice *ret_choice);
/* What is recorded behind the snapshot, up to the revision that is meant, takes on the disk. */
uint64_t rebuildchoice_record_bytes(const struct rebuildchoice *choice, int64_t base_revision);
void rebuildchoice_fini(struct rebuildchoice *choice);
