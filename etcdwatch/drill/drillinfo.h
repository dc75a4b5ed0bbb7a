/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a job's drills tell about themselves, rendered: the object `drill` of `etcd snapshot jobs`,
 * and the metrics. Pure; docs/control.md describes both. Everything is borrowed for the length of
 * the call.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/metrics.h"
#include "etcdwatch/drill/drillstate.h"
#include "etcdwatch/work/child.h"

struct drillinfo {
	const char *job;
	const char *state;              /* "idle", "running", ... */
	const char *phase;              /* of the one that is under way; "" */
	struct doing doing;             /* in it */
	const struct drillstate *known; /* of those before */
	struct drilldue due;
	uint64_t n_passed, n_failed; /* since the daemon was started */
};

/* The last one failed, or none has gone well for too long. */
bool drillinfo_is_alarm(const struct drillinfo *info);

json_t *drillinfo_json(const struct drillinfo *info, int64_t wall_now_s);
void drillinfo_metrics(struct metrics *m, const struct drillinfo *infos, size_t n);
