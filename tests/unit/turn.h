/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Turning a libev loop from a test that is not run by it. */

#include <ev.h>
#include <stdint.h>

#include "base/macro.h"
#include "base/mono.h"

static inline void turn_wake_cb(struct ev_loop *ev UNUSED, ev_timer *w UNUSED, int revents UNUSED)
{
}

/* Once, for 10 ms at most. */
static inline __attribute__((unused)) void turn_once(struct ev_loop *ev)
{
	ev_timer wake;

	ev_timer_init(&wake, turn_wake_cb, 0.01, 0.);
	ev_timer_start(ev, &wake);
	ev_run(ev, EVRUN_ONCE);
	ev_timer_stop(ev, &wake);
}

static inline __attribute__((unused)) void turn_until(struct ev_loop *ev, int64_t time_us)
{
	while (mono_now_us() < time_us)
		turn_once(ev);
}

/* Far longer than anything takes on a machine that is slow; nobody waits for it to pass. */
#define TURN_LIMIT_US (30 * US_PER_S)

/* Until the condition holds, and whether it does: what a test waits for is a state, never a time.
 */
#define TURN_UNTIL(ev, condition)                               \
	({                                                          \
		int64_t turn_limit_us_ = mono_now_us() + TURN_LIMIT_US; \
                                                                \
		while (!(condition) && mono_now_us() < turn_limit_us_)  \
			turn_once(ev);                                      \
		(condition);                                            \
	})

static inline __attribute__((unused)) void turn_for(struct ev_loop *ev, int64_t us)
{
	turn_until(ev, mono_now_us() + us);
}
