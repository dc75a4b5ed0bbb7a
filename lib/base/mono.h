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

/* For libev timers, which take seconds as a double. Never negative. */
double mono_to_ev(int64_t us);

/* Seconds since the epoch, for people only: never used to decide anything. */
int64_t wall_now_us(void);
