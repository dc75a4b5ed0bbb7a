/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What was done to the cluster by this process, counted for the metrics: by hand and by itself,
 * step by step. docs/control.md describes them. Pure: times come with the calls.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/metrics.h"
#include "etcdwatch/cluster/survey.h"
#include "etcdwatch/config/config.h"
#include "etcdwatch/steer/steps.h"

/* --- upkeepdue --- */

/* What is to be done to the cluster by itself, when, and by which node; pure. Times are seconds
 * since 1970-01-01 UTC. */

/* What was done and has not helped will not help at once; what could not begin may, soon. */
#define UPKEEP_AGAIN_S 600
#define UPKEEP_SOON_S 20

enum upkeep_what {
	UPKEEP_NOTHING,
	UPKEEP_DEFRAG,
	UPKEEP_RECOVER,
};

struct upkeep_past {
	int64_t defrag_s;  /* up to here the schedule has been heeded: at first, when the daemon began;
	                      what was missed while it was away is not made up for */
	int64_t recover_s; /* recovering is not tried before then */
};

/* no_space: the alarm stands. */
enum upkeep_what upkeepdue_look(const struct config_watch *watch, const struct upkeep_past *past,
                                bool no_space, int64_t now_s);

const char *upkeepdue_name(enum upkeep_what what); /* "defrag", "recover-space", "nothing" */

/* Whose member it is that has to do it; NULL: nobody's. */
const struct survey_member *upkeepdue_whose(enum upkeep_what what, const struct survey *survey);

#define TALLY_MEMBERS_MAX SURVEY_MEMBERS_MAX

enum tally_result {
	TALLY_DONE,
	TALLY_FAILED,
	TALLY_REFUSED,  /* upkeep: it must not be done now */
	TALLY_NEEDLESS, /* upkeep: there was nothing to do */
	TALLY_RESULTS_N,
};

/* The last time that a database was written anew. */
struct tally_defrag {
	char name[SURVEY_NAME_MAX]; /* of the member */
	int64_t stall_us;
	int64_t at_s;
};

struct tally {
	uint64_t steps[STEP_DEFRAGMENT + 1][TALLY_RESULTS_N];
	uint64_t upkeep[UPKEEP_RECOVER + 1][TALLY_RESULTS_N];
	int64_t defrag_us, stall_us, leader_stall_us; /* of all together */
	uint64_t freed_bytes;
	struct tally_defrag defrags[TALLY_MEMBERS_MAX];
	size_t n_defrags;
};

/* What a step of DEFRAGMENT came to. */
struct tally_cost {
	int64_t took_us, stall_us, leader_stall_us; /* less than 0: not known */
	int64_t db_bytes;                           /* now */
	int64_t at_s;
};

/* Each may be told to nobody: tally NULL. `cost` is NULL unless it was done. */
void tally_step(struct tally *tally, const struct step *step, const struct tally_cost *cost);
void tally_upkeep(struct tally *tally, enum upkeep_what what, enum tally_result result);

void tally_metrics(struct metrics *m, const struct tally *tally);
