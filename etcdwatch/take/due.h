/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which period of a job is under way, and when a snapshot is due. A period begins when the schedule
 * says so and lasts until the next; its snapshot is due a little later, by the job's jitter. Pure:
 * the caller brings the clock, which may jump. Times are seconds since 1970-01-01 UTC.
 */

#include <stdbool.h>
#include <stdint.h>

#include "etcdwatch/config/config.h"

struct due {
	int64_t period_s; /* that is under way; 0: not looked yet */
	int64_t done_s;   /* the period that has its snapshot, as far as is known; 0: none */
	int64_t next_s;   /* when one is due: of this period while it has none, else of the next */
};

enum due_news {
	DUE_SAME,       /* the period is the one of before, or the first that was looked at */
	DUE_NEW,        /* another one, and the one before had its snapshot */
	DUE_NEW_MISSED, /* another one, and the one before had none */
};

enum due_news due_look(struct due *due, const struct config_job *job, int64_t now_s);

/* When one is due of the period that begins next. */
int64_t due_next_s(const struct config_job *job, int64_t now_s);

/* The period that is under way has its snapshot. */
void due_done(struct due *due);

bool due_is_done(const struct due *due);

/* The period in which something was begun is done, whatever it is now. */
void due_done_at(struct due *due, const struct config_job *job, int64_t at_s);

/* How long to wait after so many failures in a row, from 1 on. */
int64_t due_retry_us(unsigned n_failures);
