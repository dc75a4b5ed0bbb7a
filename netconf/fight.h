/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether a step of a repair is carried out now, or waits. Each step has its own count: when it was
 * carried out too often within the window, another process deletes or changes the object, and the
 * step waits: 10 s, and twice as long each time that the object is lost again, up to 5 minutes. An
 * object that has stood for the window begins at 0.
 *
 * What the kernel drops is not counted: what was on a link that went down, lost its carrier or was
 * made again, and what cannot be without another object that is lost, too (a route without the
 * address that reaches its gateway). A step that the kernel refuses waits 10 s, or until a link or
 * an address changes. Pure: the clock is given.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "netconf/config/config.h"
#include "netconf/kernel/kernel.h"
#include "netconf/plan/plan.h"

#define FIGHT_PAUSE_US (10 * US_PER_S)
#define FIGHT_PAUSE_MAX_US (300 * US_PER_S)

struct fight;

struct fight *fight_new(void);
void fight_free(struct fight *fight);
DEFINE_AUTO(struct fight, fight_free);

/* True if a link went down or came up, or is another one: a repair that waits can go on. */
bool fight_on_news(struct fight *fight, const struct kernel_news *news, int64_t now_us);

/* All that lacks now, so that only this is told to be left alone. `step` is one more, of the host. */
void fight_look(struct fight *fight, const struct plan *plan, int64_t window_us, int64_t now_us);
void fight_look_at(struct fight *fight, const char *step);

/* Leaves out the steps that wait, and those that the kernel would refuse without them. */
void fight_hold(const struct fight *fight, struct plan *plan, const struct model *have,
                int64_t now_us);

/* Counts the steps of the plan that do not wait, and holds it. */
void fight_count(struct fight *fight, struct plan *plan, const struct model *have,
                 const struct config_fight *rule, int64_t now_us);
/* Counts a step of the host. False: it is left alone from now on, or still. */
bool fight_may_step(struct fight *fight, const char *step, const struct config_fight *rule,
                    int64_t now_us);
/* What was counted was refused: it waits, unless something has changed since. */
void fight_refused(struct fight *fight, const struct plan *left, int64_t now_us);

/* When the next step need not wait any more; MONO_NEVER: none waits. */
int64_t fight_next_us(const struct fight *fight, int64_t now_us);

struct fight_left {
	const char *step;                    /* that would set it right */
	const char *by;                      /* as struct kernel_news has it */
	int64_t since_us, from_us, until_us; /* from when on it waits this time */
};
/* Of what lacks and is left alone, the one with this number. False: there are no more. */
bool fight_get(const struct fight *fight, size_t i, int64_t now_us, struct fight_left *ret_left);
