/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One job of the configuration: knows when a snapshot is due, finds out with the other nodes who
 * takes it, has it taken and recorded, and clears out what need not be kept. Each failure is tried
 * again within the period.
 */

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "etcd/etcd.h"
#include "etcdwatch/cluster/doubt.h"
#include "etcdwatch/cluster/view.h"
#include "etcdwatch/config/config.h"
#include "etcdwatch/store/accepted.h"
#include "etcdwatch/take/run.h"
#include "etcdwatch/target/target.h"
#include "etcdwatch/work/child.h"
#include "web/signature.h"

/* --- notes --- */

/*
 * What a job remembers of how it went: what went wrong last, and how often. Written into the log as
 * it happens, and read by reports.
 */

#define NOTES_TEXT_MAX 768

/* By this node, since it was started. */
struct job_counts {
	uint64_t kept;
	uint64_t rejected;
	uint64_t failures;
	uint64_t missed; /* periods that went by without a snapshot of anybody */
	uint64_t pruned;
	uint64_t unsent; /* of these, that some target had no copy of */
	uint64_t not_compared;
};

struct notes {
	char error[NOTES_TEXT_MAX]; /* "": all has gone well since */
	int64_t error_s;            /* wall clock */
	int64_t last_took_us;
	struct job_counts counts;
};

void notes_error(struct notes *notes, const char *text);

/* A snapshot was kept. What is odd about it is an error that stands, though the snapshot counts. */
void notes_kept(struct notes *notes, const char *job, const struct run_result *result);

struct job;
struct others;
struct storing;

struct job_env {
	struct ev_loop *ev;
	struct etcd *etcd;
	const char *node_name;
	const char *instance;
	const char *prefix;              /* of keys; ends in '/' */
	const char *worker;              /* the program */
	struct doubt *doubt;             /* also noted in */
	const struct signature_key *key; /* that signs; NULL: none */
};

/* env and config are borrowed until job_free(). 0, or -errno: its thread cannot be started. */
int job_new(const struct job_env *env, const struct config_job *config, struct job **ret_job);
/* What is under way is dropped; waits for the disk. */
void job_free(struct job *job);
DEFINE_AUTO(struct job, job_free);

/* Gives up what is under way, so that another node can take over. True: it is over; false:
 * `stopped` is called, once, as its last act, perhaps from inside. Nothing is begun any more. */
bool job_stop(struct job *job, void (*stopped)(void *userdata), void *userdata);

/* Takes one now, whatever the schedule says. `done` is called once, never from inside. -EBUSY: it
 * is at it already. */
struct job_saved {
	const char *id;     /* NULL: there is none */
	const char *reason; /* why there is none, or "" */
};
typedef void (*job_saved_fn)(const struct job_saved *saved, void *userdata);
/* `step` may be NULL; its userdata is done's. It may call job_forget_save(). */
int job_save(struct job *job, run_step_fn step, job_saved_fn done, void *userdata);
/* The answer is not wanted any more; the snapshot is. */
void job_forget_save(struct job *job);

/* While it rests, somebody else may work on its snapshots: none is begun, removed or asked for
 * until job_release(); what is due then, is taken then. False: it does not rest. */
bool job_hold(struct job *job);
void job_release(struct job *job);

/* What the operator would have to say for something to go, here or in a target; false: that is not
 * what keeps it. And that it was said. */
bool job_get_word(const struct job *job, struct retain_accepted *ret_word);
void job_look_again(struct job *job);
struct accepted_of job_accepted_of(const struct job *job);

const struct job_env *job_env(const struct job *job);
struct storing *job_storing(const struct job *job);
const struct config_job *job_config(const struct job *job);
struct store *job_store(const struct job *job);
/* Its memory of other nodes' snapshots (others.h). */
struct others *job_others(struct job *job);

struct job_report {
	const char *job;
	const char *state;
	bool elected;
	bool compares;      /* its snapshots, with the HashKV of another member */
	int64_t next_due_s; /* wall clock; of the period that is under way, while it is due */
	int64_t period_s;   /* when it began; 0: not known yet */
	bool period_done;
	const char *done_by;                   /* elected: the node that did it last; "": not known */
	const struct catalog_entry *last_good; /* on this node; NULL: there is none */
	uint64_t n_snapshots;                  /* on this node */
	uint64_t total_bytes;                  /* of them, as they are stored */
	uint64_t n_rejected;
	uint64_t n_waiting; /* on this node only because a target has no copy yet */
	const char *error;  /* the last one, "" when all has gone well since */
	int64_t error_s;
	const char *frozen; /* why nothing is removed; "" */
	uint64_t bytes;     /* of what is being taken */
	uint64_t of_bytes;
	struct doing doing; /* with what has been taken */
	int64_t last_took_us;
	const char *odd; /* the first thing in the directory that is not as it should be, or NULL */
	size_t n_odd;
	struct job_counts counts;
	struct target_report targets[CONFIG_TARGETS_MAX];
	size_t n_targets;
};

/* Every string in it is borrowed until the next turn of the loop. */
void job_fill_report(const struct job *job, struct job_report *ret_report);
