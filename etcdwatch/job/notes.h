/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a job remembers of how it went: what went wrong last, and how often. Written into the log as
 * it happens, and read by reports.
 */

#include <stdint.h>

#include "etcdwatch/report.h"
#include "etcdwatch/take/run.h"

#define NOTES_TEXT_MAX 768

struct notes {
	char error[NOTES_TEXT_MAX]; /* "": all has gone well since */
	int64_t error_s;            /* wall clock */
	int64_t last_took_us;
	struct job_counts counts;
};

void notes_error(struct notes *notes, const char *text);

/* A snapshot was kept. What is odd about it is an error that stands, though the snapshot counts. */
void notes_kept(struct notes *notes, const char *job, const struct run_result *result);
