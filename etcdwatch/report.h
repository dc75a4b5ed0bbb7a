/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What etcdwatch tells about itself, rendered: the JSON lines of `etcd snapshot jobs` and of
 * `etcd snapshot list`, and the metrics. Pure. Everything is borrowed for the length of the call.
 * The fields and the metrics are described in docs/control.md.
 */

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/metrics.h"
#include "etcdwatch/job/job.h"
#include "etcdwatch/job/others.h"

/* New objects: the caller owns them. */
json_t *report_job_json(const struct job_report *report, int64_t wall_now_s);
json_t *report_snapshot_json(const struct catalog_entry *entry);

/* Takes `places`: names of targets. */
json_t *report_other_json(const char *job, const struct others_one *one, int64_t wall_now_s,
                          json_t *places);

void report_metrics(struct metrics *m, const struct job_report *reports, size_t n);
