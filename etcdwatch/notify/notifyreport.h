/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How telling goes, rendered: `etcd notify status` and the metrics, as docs/control.md describes
 * them. Pure. */

#include <jansson.h>
#include <stdint.h>

#include "base/metrics.h"
#include "etcdwatch/notify/notifyqueue.h"

#define NOTIFYREPORT_TEXT_MAX 512

struct notifyreport {
	const char *state; /* "idle", "sending", "pausing" */
	const char *to;    /* scheme and host, or the file with the URL */
	size_t n_queued;
	int64_t oldest_s; /* for how long the oldest has waited */
	uint64_t delivered, failed, refused, given_up;
	struct notifyqueue_counts queue;
	int64_t delivered_s;               /* when the last one arrived, since 1970; 0: none has */
	int64_t next_s;                    /* until the next attempt; with "pausing" */
	char error[NOTIFYREPORT_TEXT_MAX]; /* of the last attempt, "" when it arrived */
	int64_t error_s;
};

/* A new object. */
json_t *notifyreport_json(const struct notifyreport *report);
void notifyreport_metrics(struct metrics *m, const struct notifyreport *report);
