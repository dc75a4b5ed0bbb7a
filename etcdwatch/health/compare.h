/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Now and then asks the members, one after the other, for the hash of their data, and keeps what
 * came of it (hashes.h). Not while a snapshot is taken or a database written anew, as far as that
 * is known here; each member has a deadline of its own.
 */

#include <ev.h>

#include "base/cleanup.h"
#include "etcd/etcd.h"
#include "etcdwatch/cluster/doubt.h"
#include "etcdwatch/cluster/view.h"
#include "etcdwatch/health/hashes.h"
#include "etcdwatch/schedule/schedule.h"

/*
 * Whose data differ is remembered over restarts and reloads: a small file in a job's directory,
 * with a line for each member (or 0, the cluster) that says how often in a row they did. Without it
 * a daemon that was restarted would delete snapshots until it has compared for itself.
 */
#define COMPARE_FILE ".compare-state" /* hidden: no entry of the catalogue */

struct compare;

struct compare_options {
	struct ev_loop *ev;
	struct etcd *etcd;
	const char *prefix;        /* of keys; ends in '/' */
	int64_t every_us;          /* 0: never */
	struct hours between;      /* begun only then, but for what has shown a difference */
	const struct zone *zone;   /* of `between` */
	const char *directory;     /* where it is remembered ; NULL: nowhere */
	const struct doubt *doubt; /* what snapshots have shown is looked into at once */
	/* This process is at a snapshot. */
	bool (*takes_snapshot)(const void *userdata);
	const void *userdata;
};

/* Borrows what the options name, until compare_free(). 0, or -errno: a thread cannot be started. */
int compare_new(const struct compare_options *options, struct compare **ret_compare);
/* What is under way is given up; waits for the disk. NULL is fine. */
void compare_free(struct compare *compare);
DEFINE_AUTO(struct compare, compare_free);

/* With each observation, which is copied from: begins a comparison when it is time, by its
 * `now_us` and `wall_s`, and nothing speaks against it. */
void compare_look(struct compare *compare, const struct observation *o);
/* What is known by now. */
void compare_fill(const struct compare *compare, struct observation *o);

/* Members hold different data, or did before the start, or what was known then is not read yet. */
bool compare_differ(const struct compare *compare);

struct compare_report {
	bool is_on; /* there are any */
	uint64_t n_same, n_differ, n_nothing;
	enum hashes_result result; /* of the last one that came to something */
	int64_t compared_s;        /* when that was; 0: never */
	int64_t revision;
	int64_t took_us;
	int64_t next_s; /* when the next one is due; 0: not known yet, or there are none */
};
void compare_fill_report(const struct compare *compare, struct compare_report *ret_report);
