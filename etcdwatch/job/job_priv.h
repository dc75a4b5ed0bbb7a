/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A job as its own files see it: job.c has its states, the clock and its life, jobtake.c how one
 * snapshot of a period comes about, jobclear.c what goes and why nothing does, job.c what is
 * told of it. Nobody else includes this.
 */

#include "etcdwatch/job/job.h"

#include "etcdwatch/cluster/view.h"
#include "etcdwatch/job/clearing.h"
#include "etcdwatch/job/others.h"
#include "etcdwatch/store/store.h"
#include "etcdwatch/take/claim.h"
#include "etcdwatch/take/due.h"
#include "etcdwatch/take/run.h"
#include "etcdwatch/target/storing.h"

enum job_state {
	JOB_STARTING,
	JOB_IDLE,
	JOB_DUE,
	JOB_CLAIMING,
	JOB_RUNNING,
	JOB_RECORDING,
	JOB_PRUNING,
	JOB_WAITING,
	JOB_RETRYING,
};

struct job {
	const struct job_env *env;
	const struct config_job *config;
	struct disk *disk;
	struct store *store;
	struct storing *storing;
	enum job_state state;
	ev_timer timer; /* IDLE, DUE, RUNNING, WAITING, RETRYING */

	struct due due;
	char done_by[CLAIM_NODE_MAX];
	unsigned n_failures; /* in this period */

	struct view_request *asking;
	struct view view; /* as of the last look */
	struct claim *claim;
	struct run *run;
	bool is_held; /* somebody else works on its snapshots: none is begun */
	bool is_manual;
	bool is_unclaimed;              /* an alarm stands: what is being taken cannot be recorded */
	char kept_id[STORE_REASON_MAX]; /* RECORDING */
	/* Taken under a claim of this period that was lost: it is recorded under another one, or goes
	 * if another node's is recorded. */
	char unrecorded_id[STORE_REASON_MAX];
	char fenced_by[NOTES_TEXT_MAX]; /* RECORDING: why it goes */

	run_step_fn step;   /* of who asked for it; NULL: not wanted, or not any more */
	job_saved_fn saved; /* of who asked for it; NULL: nobody waits */
	void *saved_userdata;
	void (*stopped)(void *userdata); /* it is to stop */
	void *stopped_userdata;

	struct notes notes;
	struct others others;
	struct clearing *clearing;    /* PRUNING; or at the start, a look at what is frozen */
	char frozen[RETAIN_TEXT_MAX]; /* why nothing was removed, as it was logged */
	char shrunk[RETAIN_TEXT_MAX]; /* what of that lasts; a doubt ends without a word to a job */
	size_t n_waiting;             /* stay only as a target has no copy */
	bool needs_room;              /* PRUNING: there was none for a snapshot */
	bool shrank;                  /* that is why, and the word that would thaw it: */
	struct retain_accepted word;
};

/* --- job.c --- */

/* The one writer of the state. */
void job_change_state(struct job *job, enum job_state state, const char *reason);
const char *job_state_name(const struct job *job);
void job_wait_for(struct job *job, int64_t us);
int64_t job_wall_now_s(void);
/* These two end an attempt; the second is tried again. Last acts. */
void job_rest(struct job *job, const char *reason);
void job_fail(struct job *job, const char *reason);
/* Whoever asked for a snapshot hears of it once. Calls out. */
void job_tell_saved(struct job *job, const struct job_saved *saved);

/* --- jobtake.c --- */

/* DUE: takes one, or claims the period first. */
void job_run(struct job *job);
void job_claim(struct job *job);
/* RUNNING: now and then. */
void job_watch(struct job *job);

/* --- jobclear.c --- */

/* RUNNING, RECORDING: a snapshot is kept, and others may go. */
void job_prune(struct job *job);
/* RUNNING: there was no room for a snapshot. What waits for a target makes room, and it is tried
 * again at once. False: nothing waits. */
bool job_make_room(struct job *job, const char *reason);
/* Of the last look. Nothing may go then, since nobody knows whose data are the good ones. */
bool job_may_be_corrupt(const struct job *job);
/* Why nothing would go, as far as can be said without asking for alarms. */
void job_look_at_frozen(struct job *job);
/* Elected, the node whose snapshot is the one of the period; else each clears away its own. */
bool job_may_shed(void *job);
