/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How long to wait until the next attempt at a receiver that fails. Pure. */

#include <stdint.h>

/* After one failure; it doubles with each further one. */
#define NOTIFYDELAY_FIRST_US (INT64_C(2) * 1000000)
/* Whatever the receiver asks for. */
#define NOTIFYDELAY_ASKED_MAX_US (INT64_C(3600) * 1000000)

/*
 * Behind `n_failed` failures without a success, at least one: between half of the doubled time and
 * all of it, where `random` says, so that the nodes do not come back together; or longer, when the
 * receiver has asked for that (asked_us; 0: it has not).
 */
int64_t notifydelay_us(unsigned n_failed, int64_t max_us, int64_t asked_us, uint32_t random);
