/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol's arithmetic; see timing.h for the terms. No state, no clock. */
#include "vipd/timing.h"

#include "base/macro.h"

int64_t timing_election_timeout_us(int64_t min_ttl_s)
{
	/* 2 s is what the default of one second gives, and anything from 0.7 s to 1.3 s as well. */
	if (min_ttl_s <= 2)
		return TIMING_ELECTION_DEFAULT_US;
	return MIN(min_ttl_s, TIMING_ELECTION_MAX_US / US_PER_S * 3 / 2) * US_PER_S * 2 / 3;
}

int64_t timing_window_advised_us(int64_t election_timeout_us)
{
	return election_timeout_us * 5 / 2;
}

int64_t timing_window_auto_us(int64_t election_timeout_us, enum fence_kind kind)
{
	int64_t advised_us = timing_window_advised_us(election_timeout_us);

	return kind == FENCE_NFTABLES ? advised_us : MAX(advised_us, TIMING_WINDOW_LIFETIME_US);
}

int64_t timing_confirm_period_us(int64_t window_us)
{
	return window_us / 8;
}

int64_t timing_overdue_us(int64_t window_us)
{
	return window_us / 4;
}

/* x (1 + h) / ((1 - h) (1 - s)): the fenced clock's hardware may run slow by h and be slewed by s
 * on top, while the hardware of the waiting one runs fast by h. */
static int64_t stretched(int64_t us)
{
	us = us * (1000000 + TIMING_HARDWARE_PPM) / (1000000 - TIMING_HARDWARE_PPM);
	return us * 1000000 / (1000000 - TIMING_SLEW_PPM);
}

int64_t timing_worth_holding_us(enum fence_kind kind, int64_t window_us)
{
	int64_t least = kind == FENCE_LIFETIME ? US_PER_S + TIMING_LIFETIME_SLACK_US : 0;

	return MAX(least, timing_overdue_us(window_us));
}

int64_t timing_silent_at_us(int64_t seen_us, int64_t window_us)
{
	return seen_us + window_us;
}

struct mono_moment timing_take_at(struct mono_moment seen, int64_t window_us, int64_t late_us)
{
	int64_t wait_us = stretched(window_us + late_us) + TIMING_MARGIN_US;

	return (struct mono_moment){.us = seen.us + wait_us, .raw_us = seen.raw_us + wait_us};
}

struct mono_moment timing_later(struct mono_moment a, struct mono_moment b)
{
	return (struct mono_moment){.us = MAX(a.us, b.us), .raw_us = MAX(a.raw_us, b.raw_us)};
}

int64_t timing_over_us(struct mono_moment at, struct mono_moment now)
{
	return MAX(at.us, now.us + at.raw_us - now.raw_us);
}

int64_t timing_bound_us(int64_t window_us, int64_t late_us)
{
	return window_us + late_us;
}

uint32_t timing_lifetime_s(enum fence_kind kind, int64_t deadline_us, int64_t now_us)
{
	int64_t left_us = deadline_us - now_us;

	if (kind == FENCE_LIFETIME)
		left_us -= TIMING_LIFETIME_SLACK_US;
	else if (left_us > 0)
		/* Never let it act before the gate: round up, and one more. */
		left_us += 2 * US_PER_S - 1;
	return left_us <= 0 ? 0 : (uint32_t) (left_us / US_PER_S);
}
