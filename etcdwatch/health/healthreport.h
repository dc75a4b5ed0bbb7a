/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the watchdog tells, rendered: the JSON lines of `etcd health`, and the metrics. Pure;
 * docs/control.md describes both. Everything is borrowed for the length of the call.
 */

#include <jansson.h>

#include "base/metrics.h"
#include "etcdwatch/health/compare.h"
#include "etcdwatch/rules/judge.h"

struct healthreport {
	const struct observation *o; /* the last one; NULL: there is none yet */
	const struct trend *trend;
	const struct judge_finding *findings[JUDGE_SLOTS_MAX];
	size_t n_findings;
	struct compare_report compared;
	uint64_t n_rounds;
	const uint64_t *n_raised; /* of each rule; NULL: none */
	int64_t now_us;           /* mono_now_us() */
	int64_t wall_s;
};

/* New objects: the caller owns them. The first line, and the line of one finding. */
json_t *healthreport_summary_json(const struct healthreport *report);
json_t *healthreport_finding_json(const struct healthreport *report,
                                  const struct judge_finding *finding);

/* To an object about that member: its `quota_bytes` if there is none, how it grows, and when it is
 * full. */
void healthreport_add_runway(const struct healthreport *report, uint64_t member, json_t *object);

void healthreport_metrics(struct metrics *m, const struct healthreport *report);
