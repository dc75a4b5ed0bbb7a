/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What is remembered of a job's drills, over restarts too: a small JSON file in the job's
 * directory. Losing it costs a drill more than needed. Pure.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "etcdwatch/catalog/catalog.h"
#include "etcdwatch/config/config.h"
#include "etcdwatch/config/s3words.h"
#include "etcdwatch/target/inventory.h"

#define DRILLSTATE_FILE ".drill-state" /* hidden: no entry of the catalogue */
#define DRILLSTATE_BYTES_MAX (64u << 10)
#define DRILLSTATE_CODE_MAX 32
#define DRILLSTATE_REASON_MAX 768

/* Times are seconds since 1970-01-01 UTC; 0: never. */
struct drillstate {
	int64_t since_s; /* there has been a snapshot to drill */
	int64_t last_s;  /* the last drill began */
	char last_id[CATALOG_ID_MAX + 1];
	bool last_ok;
	char code[DRILLSTATE_CODE_MAX];     /* if it failed; "" */
	char reason[DRILLSTATE_REASON_MAX]; /* the same */
	int64_t last_took_ms;
	json_t *result;    /* what the worker told of it, an object, or NULL; owned */
	unsigned failures; /* in a row */
	int64_t good_s;    /* the last one that went well began */
	char good_id[CATALOG_ID_MAX + 1];
};

void drillstate_fini(struct drillstate *state);

/* A drill is over. `result` is borrowed. */
void drillstate_add(struct drillstate *state, int64_t began_s, const char *id, int64_t took_ms,
                    const char *code, const char *reason, const json_t *result);

/* 0, or -EINVAL; the state is untouched then. */
int drillstate_parse(const char *text, size_t len, struct drillstate *ret_state);
/* The caller frees it. */
char *drillstate_print(const struct drillstate *state);

/* --- drilldue --- */

/*
 * When a drill is due, and when it is overdue. Pure: the caller brings the clock, which may jump.
 * Times are seconds since 1970-01-01 UTC; 0: never.
 *
 * The schedule says from when on a drill is wanted. It is due then, and again some time after each
 * one that failed, until one has gone well. It is overdue when none has gone well a quarter of an
 * hour after the longest that it may take. The first one is wanted as soon as there is a snapshot;
 * without the job's catchUp, at the first time of the schedule after that.
 */

struct drilldue_history {
	int64_t since_s; /* there is something to drill; without catchUp, not before the daemon began */
	int64_t last_s;  /* the last one began */
	int64_t good_s;  /* the last one that went well began */
	unsigned failures; /* since then */
};

struct drilldue {
	int64_t
	    next_s; /* when the next one is due, perhaps already; 0: none while there is no snapshot */
	bool is_due;
	bool is_overdue;
};

void drilldue_look(const struct config_job *job, const struct drilldue_history *history,
                   int64_t now_s, struct drilldue *ret_due);

/* --- drillpick --- */

/* Which snapshot a drill restores: the newest good one, by the time that it was begun. Pure. */

/* Of a store, the oldest first; only those with a copy in that target, unless it is NULL. NULL:
 * there is none. */
const struct catalog_entry *drillpick_here(const struct config_job *job,
                                           const struct catalog_entry *const *entries, size_t n,
                                           const struct config_target *copied_to);
/* Of what a target holds: one that is trusted. */
const struct catalog_entry *drillpick_there(const struct config_job *job,
                                            const struct inventory *there);

/* --- drillwords --- */

/* What the worker is told to do for a drill: `etcdwatch-worker drill ...`. Pure. */

struct drillwords {
	struct s3words words;
	char *file, *entry;
	char timeout[24], reserve[24];
};

/* Of a snapshot in the job's directory, or in the source that the job's drills have. Borrows all
 * until drillwords_fini(). */
void drillwords_init(struct drillwords *words, const char *worker, const struct config_job *job,
                     const struct catalog_entry *entry);
void drillwords_fini(struct drillwords *words);
