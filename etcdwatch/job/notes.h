/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a job remembers of how it went: what went wrong last, and how often. Written into the log as
 * it happens, and read by reports.
 */

#include <stdint.h>

#include "etcdwatch/take/run.h"

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
