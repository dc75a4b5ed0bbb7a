/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks. Everything that is decided uses CLOCK_BOOTTIME; see mono.h for why. */
#include "base/mono.h"

#include <assert.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
	struct timespec ts;
	int r;

	r = clock_gettime(id, &ts);
	assert(r == 0);
	return (int64_t) ts.tv_sec * US_PER_S + ts.tv_nsec / 1000;
}

int64_t mono_now_us(void)
{
	return read_clock(CLOCK_BOOTTIME);
}

struct mono_moment mono_moment_now(void)
{
	return (struct mono_moment){.us = mono_now_us(), .raw_us = read_clock(CLOCK_MONOTONIC_RAW)};
}

double mono_to_ev(int64_t us)
{
	return us <= 0 ? 0.0 : (double) us / (double) US_PER_S;
}

int64_t wall_now_us(void)
{
	return read_clock(CLOCK_REALTIME);
}
