/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What etcdwatch tells about itself, rendered: the JSON lines of `etcd snapshot jobs` and of
 * `etcd snapshot list`, and the metrics. Pure. Everything is borrowed for the length of the call.
 * The fields and the metrics are described in docs/control.md.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/metrics.h"
#include "etcdwatch/catalog/catalog.h"
#include "etcdwatch/config/config.h"
#include "etcdwatch/work/doing.h"

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

struct target_sent {
	uint64_t bytes, of_bytes; /* 0 of 0: nothing is being sent */
	uint64_t bytes_per_s;     /* since the worker said so first; 0: not known yet */
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

struct others_one;

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

/* New objects: the caller owns them. */
json_t *report_job_json(const struct job_report *report, int64_t wall_now_s);
json_t *report_snapshot_json(const struct catalog_entry *entry);
/* null: 0 or before. */
json_t *report_moment_json(int64_t wall_s);

/* Takes `places`: names of targets. */
json_t *report_other_json(const char *job, const struct others_one *one, int64_t wall_now_s,
                          json_t *places);

void report_metrics(struct metrics *m, const struct job_report *reports, size_t n);
