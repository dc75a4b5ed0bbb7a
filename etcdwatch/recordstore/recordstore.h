/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The record's copy in one target: again and again the worker uploads what is synced here and not
 * there (etcdwatch/worker/record/recordsend.h), and, when it is this node's turn, removes what no
 * snapshot there needs (recordobjects.h). A failure is tried again, ever later, and does not concern
 * the recording.
 */

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "etcdwatch/config/config.h"
#include "etcdwatch/record/recordwriter.h"

#define RECORDSTORE_TEXT_MAX 512

struct recordstore;

struct recordstore_callbacks {
	struct recordwriter_figures (*figures)(void *userdata);
	/* The oldest snapshot that is kept in the target, when that is known and it is this node's turn
	 * to remove; false: nothing is removed now. */
	bool (*oldest)(const struct config_job *job, const struct config_target *target,
	               uint64_t *ret_cluster_id, int64_t *ret_revision, void *userdata);
};

struct recordstore_options {
	struct ev_loop *ev;
	const struct config_job *job; /* that says how it is packed */
	const struct config_target *target;
	const char *worker;
	const char *node;
	const char *directory;   /* of the record */
	const char *signing_key; /* its file; copied; NULL: what is uploaded is not signed */
	const char *signed_by;   /* its public half: another one in the file is refused */
	int64_t every_us;
	const struct recordstore_callbacks *callbacks;
	void *userdata;
};

/* All is borrowed until recordstore_free(). */
struct recordstore *recordstore_new(const struct recordstore_options *options);
void recordstore_free(struct recordstore *store); /* what is under way is given up */
DEFINE_AUTO(struct recordstore, recordstore_free);

/* Strings are borrowed until the next turn of the loop. */
struct recordstore_report {
	const char *job, *target;
	const char *state;
	/* All up to there is in the target; 0: not known yet. */
	int64_t revision, until_us;
	int64_t limit_us;        /* what is not there this long after it was recorded is late */
	uint64_t sent_sequence;  /* up to it, closed segments are in the target; 0: not known yet */
	uint64_t bytes, objects; /* that were uploaded since the daemon was started */
	uint64_t removed;        /* objects, since then */
	uint64_t failures;
	const char *error; /* the last one, "" when all has gone well since */
	int64_t error_s;
	const char *passed; /* why a segment is not uploaded, "" when all are */
};

void recordstore_fill_report(const struct recordstore *store,
                             struct recordstore_report *ret_report);
