/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What is to be done to the cluster by itself, when, and by which node; pure. Times are seconds
 * since 1970-01-01 UTC. */

#include <stdbool.h>
#include <stdint.h>

#include "etcdwatch/cluster/survey.h"
#include "etcdwatch/config/config.h"

/* What was done and has not helped will not help at once; what could not begin may, soon. */
#define UPKEEP_AGAIN_S 600
#define UPKEEP_SOON_S 20

enum upkeep_what {
	UPKEEP_NOTHING,
	UPKEEP_DEFRAG,
	UPKEEP_RECOVER,
};

struct upkeep_past {
	int64_t defrag_s;  /* up to here the schedule has been heeded: at first, when the daemon began;
	                      what was missed while it was away is not made up for */
	int64_t recover_s; /* recovering is not tried before then */
};

/* no_space: the alarm stands. */
enum upkeep_what upkeepdue_look(const struct config_watch *watch, const struct upkeep_past *past,
                                bool no_space, int64_t now_s);

const char *upkeepdue_name(enum upkeep_what what); /* "defrag", "recover-space", "nothing" */

/* Whose member it is that has to do it; NULL: nobody's. */
const struct survey_member *upkeepdue_whose(enum upkeep_what what, const struct survey *survey);
