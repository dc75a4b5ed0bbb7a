/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One target of a job: what lacks a copy there is sent, the newest first, what a crash has left
 * there of our own is cleared away, and what need not be kept is removed. Each failure is tried
 * again, ever later; it concerns this target alone.
 *
 * A copy counts when the worker has read back the snapshot, and then its entry, and both were the
 * same (etcdwatch/worker/store/s3put.h). Then it is recorded in the entry here.
 */

#include <ev.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "etcdwatch/store/accepted.h"
#include "etcdwatch/cluster/doubt.h"
#include "etcdwatch/cluster/view.h"
#include "etcdwatch/config/config.h"
#include "etcdwatch/store/store.h"
#include "etcdwatch/target/copy.h"
#include "etcdwatch/target/shed.h"
#include "etcdwatch/work/disk.h"

struct target;

struct target_options {
	struct ev_loop *ev;
	struct accepted_of accepted; /* with the etcd whose alarms are asked for */
	struct disk *disk;
	struct store *store;
	const struct config_job *job;
	const struct config_target *target;
	const char *worker; /* the program */
	const char *node;
	const struct doubt *doubt;
	/* It is this node's turn to remove what need not be kept. */
	bool (*may_shed)(void *userdata);
	/* A snapshot here is not any more what was proven. From the loop; nothing may be freed. */
	void (*damaged)(const char *id, const char *reason, void *userdata);
	void *userdata;
};

/* All is borrowed until target_free(). */
struct target *target_new(const struct target_options *options);
/* When the disk is gone. What is on its way is gone on with by the next process. */
void target_free(struct target *target);
DEFINE_AUTO(struct target, target_free);

/* There is something to send, perhaps. */
void target_visit(struct target *target);

/* What the operator would have to say for something to go; false: that is not what keeps it. */
bool target_get_word(const struct target *target, struct retain_accepted *ret_word);

/* Its next visit looks at all of it again, soon. */
void target_look_again(struct target *target);

/* --- for those who work with it besides --- */
const struct target_options *target_options(const struct target *target);
struct unfinished *target_unfinished(struct target *target);
bool target_is_sending(const struct target *target, const char *id);
/* To remove what need not be kept, of all clusters, or to find out what that is. */
struct shed_options target_shed_options(const struct target *target, bool only_look);

#define TARGET_TEXT_MAX 640

/* By this node, since it was started. */
struct target_counts {
	uint64_t stored;
	uint64_t failures;
	uint64_t pruned;
};

/* By the last look at all of it that this node has had. */
struct target_found {
	bool is_known;
	uint64_t n;                   /* whole snapshots of the job and its present cluster */
	uint64_t n_strays;            /* objects that no entry stands for */
	uint64_t n_odd;               /* entries that do not count */
	char frozen[RETAIN_TEXT_MAX]; /* why nothing is removed; "" */
	bool shrank;                  /* that is why, and the word that would thaw it: */
	struct retain_accepted word;
	/* The oldest revision of the snapshots that are kept there, when this node was the one to
	 * remove, and nothing is frozen; 0: not so. */
	uint64_t oldest_cluster_id;
	int64_t oldest_revision;
};

struct target_report {
	const char *job;
	const char *target;
	const char *state;
	uint64_t n_pending;      /* good snapshots on this node that it has no copy of */
	struct target_sent sent; /* the one that is being sent */
	const char *last_id;     /* that this node has stored there since it was started; "": none */
	int64_t last_s;          /* when */
	const char *error;       /* the last one, "" when all has gone well since */
	int64_t error_s;
	struct target_counts counts;
	bool is_foreign; /* it belongs to another cluster: nothing is done there */
	const struct target_found *found;
};

/* Every string in it is borrowed until the next turn of the loop. */
void target_fill_report(const struct target *target, struct target_report *ret_report);
