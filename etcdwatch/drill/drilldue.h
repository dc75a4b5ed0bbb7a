/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * When a drill is due, and when it is overdue. Pure: the caller brings the clock, which may jump.
 * Times are seconds since 1970-01-01 UTC; 0: never.
 *
 * The schedule says from when on a drill is wanted. It is due then, and again some time after each
 * one that failed, until one has gone well. It is overdue when none has gone well a quarter of an
 * hour after the longest that it may take. The first one is wanted as soon as there is a snapshot;
 * without the job's catchUp, at the first time of the schedule after that.
 */

#include <stdbool.h>
#include <stdint.h>

#include "etcdwatch/config/config.h"

struct drilldue_history {
	int64_t since_s; /* there is something to drill; without catchUp, not before the daemon began */
	int64_t last_s;  /* the last one began */
	int64_t good_s;  /* the last one that went well began */
	unsigned failures; /* since then */
};

struct drilldue {
	int64_t
	    next_s; /* when the next one is due, perhaps already; 0: none while there is no snapshot */
	bool is_due;
	bool is_overdue;
};

void drilldue_look(const struct config_job *job, const struct drilldue_history *history,
                   int64_t now_s, struct drilldue *ret_due);
