/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Many nodes with prism in front of a few API servers, in simulated time: when each asks which.
 * What an answer means, when to ask again and where connections go is prism's own code
 * (prism/judge.h, prism/probing.h, prism/balance.h); what is made up are the answers, which come at
 * once, when nodes start, and that their connections are quiet, the most expensive case. Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "prism/judge.h"

#define MODEL_SERVERS_MAX 7

struct model_options {
	unsigned nodes;
	unsigned servers;
	struct judge_rules rules;
	unsigned begin_s;     /* nodes start within this time, evenly */
	unsigned warm_s;      /* then so long nothing is counted */
	unsigned steady_s;    /* then all is well for so long */
	unsigned down_s;      /* then the first server refuses, or all of them */
	unsigned starts_s;    /* then answers that it is not ready */
	unsigned after_s;     /* then is ready again */
	bool all;             /* not the first alone */
	bool hurry;           /* as if no other one served: each suspect_us */
	unsigned connections; /* of each node, for as long as it runs */
	double clients;       /* share of nodes whose clients notice the fall at once */
	uint64_t seed;        /* not 0 */
};

/* Of the first server; what it refuses costs it nothing, and is counted apart. */
struct model_result {
	double steady_per_s;
	unsigned steady_peak; /* in one second, as the next */
	unsigned starts_peak; /* while it is not ready */
	unsigned after_peak;
	unsigned after_peak_10s;
	unsigned refused_peak;
	double half_s, all_s; /* until that many nodes saw it ready again */
};

struct model_result model_run(const struct model_options *options);
