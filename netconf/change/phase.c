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
#include <string.h>

#include "base/fsm.h"

#define TO(phase) FSM_TO(PHASE_##phase)

static const struct fsm_state phases[PHASES] = {
    [PHASE_PREPARED] = {"prepared", TO(APPLYING) | TO(ROLLING_BACK)},
    [PHASE_APPLYING] = {"applying", TO(PROBING) | TO(ROLLING_BACK)},
    [PHASE_PROBING] = {"probing", TO(AWAITING) | TO(ROLLING_BACK)},
    [PHASE_AWAITING] = {"awaiting", TO(CONFIRMED) | TO(ROLLING_BACK)},
    [PHASE_CONFIRMED] = {"confirmed", 0},
    [PHASE_ROLLING_BACK] = {"rolling-back", TO(ROLLED_BACK) | TO(HALF_UNDONE)},
    [PHASE_HALF_UNDONE] = {"half-undone", TO(ROLLING_BACK)},
    [PHASE_ROLLED_BACK] = {"rolled-back", 0},
};

bool phase_allows(enum phase from, enum phase to)
{
	return fsm_allows(phases, PHASES, from, to);
}

void phase_check(enum phase from, enum phase to)
{
	fsm_check(phases, PHASES, from, to);
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
	return phases[phase].name;
}

int phase_parse(const char *name, enum phase *ret_phase)
{
	for (size_t i = 0; i < PHASES; i++) {
		if (strcmp(phases[i].name, name) == 0) {
			*ret_phase = (enum phase) i;
			return 0;
		}
	}
	return -EINVAL;
}
