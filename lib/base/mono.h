/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Time. One type everywhere: int64_t microseconds of CLOCK_BOOTTIME, named `_us`. That clock is
 * never set, and unlike CLOCK_MONOTONIC it runs on while the machine is suspended
 * (clock_gettime(2)), which is what a deadline towards other machines needs. It restarts at boot: a
 * value kept on disk means something only together with the boot id.
 */

#include <stdint.h>

#define US_PER_MS INT64_C(1000)
#define US_PER_S INT64_C(1000000)

/* Never; larger than any real time and safe to add a few hours to. */
#define MONO_NEVER (INT64_MAX / 2)

int64_t mono_now_us(void);

/*
 * The same moment by two clocks, for who waits for another machine and must not be early: `us` as
 * above, which NTP slews (adjtimex(2)) as it does the kernel's timers, and `raw_us`, of
 * CLOCK_MONOTONIC_RAW, which goes as fast as the hardware says whatever NTP does, and stands still
 * while the machine is suspended. Each is comparable with itself only.
 */
struct mono_moment {
	int64_t us;
	int64_t raw_us;
};

struct mono_moment mono_moment_now(void);

/* For libev timers, which take seconds as a double. Never negative. */
double mono_to_ev(int64_t us);

/* Seconds since the epoch, for people only: never used to decide anything. */
int64_t wall_now_us(void);
