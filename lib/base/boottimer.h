/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A timer for a moment of mono.h's clock. libev's own go by CLOCK_MONOTONIC, which stands still
 * while the machine is suspended: they are late by as long as that was. This one (timerfd_create(2)
 * with CLOCK_BOOTTIME) is due when the machine goes on, as soon as processes run. For what another
 * machine relies on; all else may be late after a suspend.
 */

#include <ev.h>
#include <stdint.h>

#include "base/cleanup.h"

struct boottimer;

typedef void (*boottimer_fn)(void *userdata);

/* Not set. 0, or -errno: no descriptor is left. */
int boottimer_new(struct ev_loop *ev, boottimer_fn fn, void *userdata,
                  struct boottimer **ret_timer);
void boottimer_free(struct boottimer *timer);

/* fn is called once, from the loop, not before at_us (MONO_NEVER: never), whatever was set before;
 * at its next turn if that is over already. Also inside fn. */
void boottimer_set(struct boottimer *timer, int64_t at_us);
