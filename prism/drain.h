/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether a connection is to be closed, and why. Pure; asked once a second for each. Busy ones are
 * left alone until a deadline, idle ones go one by one: each has its own place in the spread, so
 * that a thousand clients do not come back in the same second.
 *
 * The upstream is dead: all go at once. Its clients get no answer, and their nodes do not find it
 * at the same moment.
 *
 * The upstream is left:  an idle one goes from place / 65536 of drain.spread on, the first time
 * that it is silent for drain.idle; a busy one at drain.deadline, and the same share of
 * drain.spread later It is old:             from limits.max_age on, and up to a fifth later by its
 * place, the first time that it is silent for drain.idle It is idle:            silent for
 * limits.idle; for limits.half_closed when one side has ended
 */

#include <stdbool.h>
#include <stdint.h>

#include "prism/config.h"

enum drain_verdict {
	DRAIN_KEEP,
	DRAIN_IDLE,        /* silent for longer than limits.idle */
	DRAIN_HALF_CLOSED, /* one side has ended, and nothing moves */
	DRAIN_AGED,        /* older than limits.max_age, and silent at the moment */
	DRAIN_LEAVING,     /* its upstream is to be left, and it is silent at the moment */
	DRAIN_DEADLINE,    /* the same, and the time is up */
	DRAIN_DEAD,        /* its upstream is dead */
};

struct drain_facts {
	int64_t silent_us; /* since a byte went either way */
	int64_t age_us;
	int64_t leaving_us; /* since its upstream is to be left; -1: it is not */
	bool dead;          /* its upstream answers nothing any more */
	bool half_closed;
	uint16_t place; /* drawn when the connection came: its place in spreads and jitters */
};

enum drain_verdict drain_judge(const struct drain_facts *facts, const struct config_drain *drain,
                               const struct config_limits *limits);
const char *drain_verdict_name(enum drain_verdict verdict); /* "idle", "half_closed", ... */
