/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether somebody else wants it otherwise: the same thing has been set right so often, within so
 * short a time, that it is a fight. Pure: the clock is given.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct fight;

struct fight *fight_new(void);
void fight_free(struct fight *fight);
DEFINE_AUTO(struct fight, fight_free);

/* May `what` be set right once more? If so, it is counted. At most `rewrites` times in any
 * `window_us`. */
bool fight_may(struct fight *fight, const char *what, unsigned rewrites, int64_t window_us,
               int64_t now_us);
/* What was counted since then was not set right after all: nobody can have set it back. */
void fight_take_back(struct fight *fight, int64_t since_us);
