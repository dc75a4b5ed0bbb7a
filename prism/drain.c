/* SPDX-License-Identifier: Apache-2.0 */
/* When a connection goes, by how long it has been silent, old, and unwanted; drain.h has the rules.
 * Pure. */
#include "prism/drain.h"

#include <stddef.h>

/* max_age is stretched by up to this part of it. */
#define AGE_JITTER_DIVISOR 5
#define PLACES 65536

/* The share of a time that belongs to a place. Times are weeks at most: the product fits. */
static int64_t share_us(int64_t us, uint16_t place)
{
	return us * place / PLACES;
}

enum drain_verdict drain_judge(const struct drain_facts *facts, const struct config_drain *drain,
                               const struct config_limits *limits)
{
	bool silent_now = facts->silent_us >= drain->idle_us;

	if (facts->dead)
		return DRAIN_DEAD;
	if (facts->leaving_us >= 0) {
		int64_t turn_us = share_us(drain->spread_us, facts->place);

		if (facts->leaving_us >= drain->deadline_us + turn_us)
			return DRAIN_DEADLINE;
		if (facts->leaving_us >= turn_us && silent_now)
			return DRAIN_LEAVING;
	}
	if (facts->half_closed && facts->silent_us >= limits->half_closed_us)
		return DRAIN_HALF_CLOSED;
	if (limits->idle_us > 0 && facts->silent_us >= limits->idle_us)
		return DRAIN_IDLE;
	if (limits->max_age_us > 0 && silent_now) {
		int64_t jitter_us = share_us(limits->max_age_us / AGE_JITTER_DIVISOR, facts->place);

		if (facts->age_us >= limits->max_age_us + jitter_us)
			return DRAIN_AGED;
	}
	return DRAIN_KEEP;
}

const char *drain_verdict_name(enum drain_verdict verdict)
{
	switch (verdict) {
	case DRAIN_KEEP:
		return "keep";
	case DRAIN_IDLE:
		return "idle";
	case DRAIN_HALF_CLOSED:
		return "half_closed";
	case DRAIN_AGED:
		return "aged";
	case DRAIN_LEAVING:
		return "leaving";
	case DRAIN_DEADLINE:
		return "deadline";
	case DRAIN_DEAD:
		return "dead";
	}
	return "keep";
}
