/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	prepared --> applying --> probing --> awaiting --> confirmed
 *	                |            |           |
 *	                +------------+-----------+--> rolling-back --> rolled-back
 *	                                                |      ^
 *	                                                v      |
 *	                                               half-undone
 *
 * The way back is open from everywhere until it is confirmed; from the way back there is none.
 */
#include "netconf/change/phase.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/macro.h"

#define NOTHING PHASES

static const enum phase table[PHASES][PHASE_EVENTS] = {
    [PHASE_PREPARED] = {PHASE_APPLYING, NOTHING, PHASE_ROLLING_BACK, NOTHING, NOTHING, NOTHING,
                        PHASE_ROLLING_BACK, PHASE_ROLLING_BACK, NOTHING, NOTHING},
    [PHASE_APPLYING] = {NOTHING, PHASE_PROBING, PHASE_ROLLING_BACK, NOTHING, NOTHING, NOTHING,
                        PHASE_ROLLING_BACK, PHASE_ROLLING_BACK, NOTHING, NOTHING},
    [PHASE_PROBING] = {NOTHING, NOTHING, PHASE_ROLLING_BACK, PHASE_AWAITING, PHASE_ROLLING_BACK,
                       NOTHING, PHASE_ROLLING_BACK, PHASE_ROLLING_BACK, NOTHING, NOTHING},
    [PHASE_AWAITING] = {NOTHING, NOTHING, PHASE_ROLLING_BACK, NOTHING, NOTHING, PHASE_CONFIRMED,
                        PHASE_ROLLING_BACK, PHASE_ROLLING_BACK, NOTHING, NOTHING},
    [PHASE_CONFIRMED] = {NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING,
                         NOTHING, NOTHING},
    [PHASE_ROLLING_BACK] = {NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING,
                            PHASE_ROLLED_BACK, PHASE_HALF_UNDONE},
    [PHASE_HALF_UNDONE] = {NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, PHASE_ROLLING_BACK,
                           NOTHING, NOTHING, NOTHING},
    [PHASE_ROLLED_BACK] = {NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING,
                           NOTHING, NOTHING},
};

static const char *const names[PHASES] = {
    [PHASE_PREPARED] = "prepared",       [PHASE_APPLYING] = "applying",
    [PHASE_PROBING] = "probing",         [PHASE_AWAITING] = "awaiting",
    [PHASE_CONFIRMED] = "confirmed",     [PHASE_ROLLING_BACK] = "rolling-back",
    [PHASE_HALF_UNDONE] = "half-undone", [PHASE_ROLLED_BACK] = "rolled-back",
};

int phase_next(enum phase phase, enum phase_event event, enum phase *ret_next)
{
	if (table[phase][event] == NOTHING)
		return -EINVAL;
	*ret_next = table[phase][event];
	return 0;
}

bool phase_is_over(enum phase phase)
{
	return phase == PHASE_CONFIRMED || phase == PHASE_ROLLED_BACK;
}

bool phase_is_watched(enum phase phase)
{
	return !phase_is_over(phase) && phase != PHASE_HALF_UNDONE;
}

enum phase_found phase_find(enum phase phase, bool same_kernel, int64_t now_us, int64_t deadline_us)
{
	/* What the operator has confirmed stays so, whatever happened to the machine then. */
	if (phase == PHASE_CONFIRMED)
		return PHASE_FOUND_FINISH;
	if (!same_kernel)
		return PHASE_FOUND_VOID;
	if (phase == PHASE_ROLLED_BACK)
		return PHASE_FOUND_OVER;
	if (phase == PHASE_AWAITING && now_us < deadline_us)
		return PHASE_FOUND_WAIT;
	return PHASE_FOUND_UNDO;
}

bool phase_is_stuck(enum phase phase, int64_t now_us, int64_t deadline_us)
{
	return phase_is_watched(phase) && now_us >= deadline_us + PHASE_GRACE_US;
}

const char *phase_name(enum phase phase)
{
	return names[phase];
}

int phase_parse(const char *name, enum phase *ret_phase)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(names[i], name) == 0) {
			*ret_phase = (enum phase) i;
			return 0;
		}
	}
	return -EINVAL;
}
