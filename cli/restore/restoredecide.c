/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes that are furthest behind go on; all others wait for them. */
#include "cli/restore/restoredecide.h"

#include <string.h>

#include "base/fsm.h"
#include "base/macro.h"
#include "base/mono.h"

/* --- restorefence --- */

/* As in vipd/timing.h, which gives the sources. */
#define SLEW_PPM INT64_C(101000)
#define HARDWARE_PPM INT64_C(1000)
#define MILLION INT64_C(1000000)
#define MARGIN_MS 10
/* Where no vipd answers: 5 s with the address lifetime as the only fence, which is 1.25 s late. */
#define UNKNOWN_MS 6250

static int64_t stretched_ms(int64_t ms)
{
	/* Rounded up twice. */
	int64_t raw = ms * (MILLION + HARDWARE_PPM) / (MILLION - HARDWARE_PPM) + 1;

	return raw * MILLION / (MILLION - SLEW_PPM) + 1;
}

int64_t restorefence_wait_us(const json_t *vips)
{
	int64_t longest_ms = 0;

	for (size_t i = 0; i < json_array_size(vips); i++) {
		const json_t *vip = json_array_get(vips, i);
		int64_t fence_ms = json_integer_value(json_object_get(vip, "fence_window_ms")) +
		                   json_integer_value(json_object_get(vip, "fence_late_ms"));

		longest_ms = MAX(longest_ms, fence_ms);
	}
	if (longest_ms == 0)
		longest_ms = UNKNOWN_MS;
	return (stretched_ms(longest_ms) + MARGIN_MS) * US_PER_MS;
}

void restorefence_look(const char *node, const json_t *vips, struct texts *holders)
{
	for (size_t i = 0; i < json_array_size(vips); i++) {
		const json_t *vip = json_array_get(vips, i);
		const char *state = json_string_value(json_object_get(vip, "state"));
		const char *name = json_string_value(json_object_get(vip, "vip"));

		if (json_is_integer(json_object_get(vip, "fence_left_ms")) ||
		    (state != NULL && strcmp(state, "owner") == 0))
			texts_add(holders, "%s holds %s", node, name != NULL ? name : "a VIP");
	}
}

/* --- restoredecide --- */

/* A step is repeated on a node that was interrupted, so each phase may follow itself. */
#define TO(phase) FSM_TO(RESTORE_##phase)

static const struct fsm_state phases[RESTORE_N_PHASES] = {
    [RESTORE_NONE] = {"none", TO(PREPARED)},
    [RESTORE_PREPARED] = {"prepared", TO(PREPARED) | TO(STOPPING) | TO(RETURNING)},
    [RESTORE_STOPPING] = {"stopping", TO(STOPPING) | TO(STOPPED) | TO(RETURNING)},
    [RESTORE_STOPPED] = {"stopped", TO(STOPPED) | TO(EXCHANGED) | TO(RETURNING)},
    [RESTORE_EXCHANGED] = {"exchanged", TO(EXCHANGED) | TO(STARTED) | TO(RETURNING)},
    [RESTORE_STARTED] = {"started", TO(STARTED) | TO(DONE)},
    [RESTORE_DONE] = {"done", TO(DONE) | TO(PREPARED)},
    [RESTORE_RETURNING] = {"returning", TO(RETURNING) | TO(RETURNED)},
    [RESTORE_RETURNED] = {"returned", TO(RETURNED) | TO(NONE)},
};

const char *restorephase_name(enum restore_phase phase)
{
	return phases[phase].name;
}

bool restorephase_parse(const char *name, enum restore_phase *ret_phase)
{
	for (size_t i = 0; name != NULL && i < ARRAY_SIZE(phases); i++) {
		if (strcmp(name, phases[i].name) == 0) {
			*ret_phase = (enum restore_phase) i;
			return true;
		}
	}
	return false;
}

bool restorephase_allows(enum restore_phase from, enum restore_phase to)
{
	return fsm_allows(phases, ARRAY_SIZE(phases), from, to);
}

/* Those that take part and are in one of these phases. */
static uint64_t those_in(const struct restoredecide_node *nodes, size_t n, uint32_t mask)
{
	uint64_t who = 0;

	for (size_t i = 0; i < n; i++) {
		if (!nodes[i].excused && nodes[i].reached && (FSM_TO(nodes[i].phase) & mask) != 0)
			who |= UINT64_C(1) << i;
	}
	return who;
}

static const struct rule {
	uint32_t phases;
	enum restore_step step;
} forward[] =
    {
        {TO(RETURNING) | TO(RETURNED), RESTORE_GOING_BACK},
        {TO(NONE), RESTORE_PREPARE},
        {TO(PREPARED) | TO(STOPPING), RESTORE_STOP},
        {TO(STOPPED), RESTORE_EXCHANGE},
        {TO(EXCHANGED), RESTORE_START},
        {TO(STARTED), RESTORE_FINISH},
},
  backward[] = {
      {TO(STARTED) | TO(DONE), RESTORE_TOO_LATE},
      {TO(PREPARED) | TO(STOPPING) | TO(STOPPED) | TO(EXCHANGED) | TO(RETURNING), RESTORE_RETURN},
      {TO(RETURNED), RESTORE_REVIVE},
};

/* A member that is restored once more forgets what it has acknowledged since, and may vote twice.
 */
static bool may_have_forgotten(const struct restoredecide_node *nodes, size_t n, uint64_t *ret_who)
{
	*ret_who = those_in(nodes, n, TO(NONE));
	return *ret_who != 0 && those_in(nodes, n, TO(STARTED) | TO(DONE)) != 0;
}

/* The first rule that is for any node. */
static struct restoredecide first_of(const struct rule *rules, size_t n_rules,
                                     const struct restoredecide_node *nodes, size_t n)
{
	for (size_t i = 0; i < n_rules; i++) {
		uint64_t who = those_in(nodes, n, rules[i].phases);

		if (who != 0)
			return (struct restoredecide){.step = rules[i].step, .who = who};
	}
	return (struct restoredecide){.step = RESTORE_NOTHING};
}

struct restoredecide restoredecide_next(const struct restoredecide_node *nodes, size_t n,
                                        bool go_back)
{
	uint64_t unreached = 0, excused = 0, forgotten;
	size_t n_excused = 0;

	for (size_t i = 0; i < n; i++) {
		n_excused += nodes[i].excused;
		if (nodes[i].excused)
			excused |= UINT64_C(1) << i;
		else if (!nodes[i].reached)
			unreached |= UINT64_C(1) << i;
	}
	/* Else those that are left out might be a majority of the old cluster, and go on. */
	if (n_excused * 2 >= n)
		return (struct restoredecide){.step = RESTORE_NO_MAJORITY, .who = excused};
	if (unreached != 0)
		return (struct restoredecide){.step = RESTORE_UNREACHED, .who = unreached};
	if (!go_back && may_have_forgotten(nodes, n, &forgotten))
		return (struct restoredecide){.step = RESTORE_FORGOTTEN, .who = forgotten};
	return go_back ? first_of(backward, ARRAY_SIZE(backward), nodes, n)
	               : first_of(forward, ARRAY_SIZE(forward), nodes, n);
}
