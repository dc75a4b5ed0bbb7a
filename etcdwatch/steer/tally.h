/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What was done to the cluster by this process, counted for the metrics: by hand and by itself,
 * step by step. docs/control.md describes them. Pure: times come with the calls.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/metrics.h"
#include "etcdwatch/steer/steps.h"
#include "etcdwatch/steer/upkeepdue.h"

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
