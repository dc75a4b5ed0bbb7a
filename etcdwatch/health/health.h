/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The watchdog of the daemon: a round of questions every few seconds (probe.h), its judgement
 * (judge.h), and the findings that stand. It changes nothing.
 */

#include <ev.h>

#include "base/cleanup.h"
#include "base/metrics.h"
#include "etcdwatch/config/config.h"
#include "etcdwatch/drill/drill.h"
#include "etcdwatch/health/healthreport.h"
#include "etcdwatch/job/job.h"
#include "etcdwatch/notify/notify.h"

struct health;

struct health_options {
	struct ev_loop *ev;
	struct etcd *etcd;
	const struct config *config;
	struct job *const *jobs;     /* n_jobs of the configuration */
	struct drill *const *drills; /* of the same job; NULL: it has none */
	size_t n_jobs;
	struct notify *notify; /* is told; or NULL */
	/* This, and whether this process is at a snapshot: for compare.h. */
	const struct doubt *doubt;
	bool (*takes_snapshot)(const void *userdata);
	/* Tells of the record, but for `behind_s` and `lacks_s`, which follow from the rest. */
	void (*look_at_record)(struct observation_record *ret_record, const void *userdata);
	const void *userdata;
};

/* Borrows what the options name, until health_free(). 0, or -errno: a thread or a client cannot be
 * made. */
int health_new(const struct health_options *options, struct health **ret_health);
void health_free(struct health *health); /* waits for the disk */
DEFINE_AUTO(struct health, health_free);

/* Members hold different data, as far as is known. */
bool health_data_differ(const struct health *health);
/* In the last round the alarm CORRUPT stood, or nobody could be asked for it: that takes a quorum.
 */
bool health_may_be_corrupt(const struct health *health);
/* Borrowed until the next turn of the loop. */
void health_fill_report(const struct health *health, struct healthreport *ret_report);
