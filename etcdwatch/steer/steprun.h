/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Carries out steps, one after the other and one run at a time in the whole cluster: before each it
 * looks whether it may begin, after each it looks until the cluster is what the step was to make of
 * it, and it ends with the first that fails. What is under way when it is given up is done all the
 * same.
 */

#include "etcdwatch/steer/env.h"
#include "etcdwatch/steer/steps.h"

struct steprun;

struct steprun_report {
	int64_t took_us;
	/* DEFRAGMENT: */
	int64_t db_bytes;        /* now */
	int64_t stall_us;        /* how long a linearizable read of that member took at most */
	int64_t leader_stall_us; /* and of the leader, meanwhile; -1: it is the only voter */
};

struct steprun_callbacks {
	/* It has been done. It must not free the run. */
	void (*step_done)(const struct step *step, const struct steprun_report *report, void *userdata);
	/* The end, once; the run is gone. why: NULL: all were done. */
	void (*done)(const char *why, void *userdata);
};

/* Copies steps, of which there is one at least, borrows the rest. Callbacks run on the loop, never
 * before this returned. */
struct steprun *steprun_start(const struct cluster_env *env, const struct steps *steps,
                              const struct steprun_callbacks *callbacks, void *userdata);
/* The one that is under way, or about to begin. */
const struct step *steprun_step(const struct steprun *run);
void steprun_free(struct steprun *run); /* no callback; NULL is fine */
