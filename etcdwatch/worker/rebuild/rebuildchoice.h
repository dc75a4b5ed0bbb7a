/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a rebuild (rebuild.h) begins with: which revision is meant, in which history, which
 * snapshot, and which chain of the record; or a refusal that says what can be had instead.
 */

#include <jansson.h>

#include "etcdwatch/worker/rebuild/chains.h"
#include "etcdwatch/worker/rebuild/rebuild.h"

struct rebuildchoice {
	struct chains *chains;     /* of which `chain` is one */
	const struct chain *chain; /* NULL: the snapshot is all that it takes */
	int64_t revision;
	struct source *base; /* proven */
	json_t *history;     /* rebuildhistory.h */
	size_t n_histories;  /* that have the revision */
};

/* `base` says also where to unpack. What it returns is the caller's to free, also on failure. */
int rebuildchoice_make(const struct rebuild_request *request, const struct source_request *base,
                       struct problem *problem, struct rebuildchoice *ret_choice);
/* What is recorded behind the snapshot, up to the revision that is meant, takes on the disk. */
uint64_t rebuildchoice_record_bytes(const struct rebuildchoice *choice, int64_t base_revision);
void rebuildchoice_fini(struct rebuildchoice *choice);
