/* SPDX-License-Identifier: Apache-2.0 */
/* Room goes first: while there is none, nothing can be locked, and recovering defragments too. */
#include "etcdwatch/steer/upkeepdue.h"

const char *upkeepdue_name(enum upkeep_what what)
{
	static const char *const names[] = {
	    [UPKEEP_NOTHING] = "nothing",
	    [UPKEEP_DEFRAG] = "defrag",
	    [UPKEEP_RECOVER] = "recover-space",
	};

	return names[what];
}

enum upkeep_what upkeepdue_look(const struct config_watch *watch, const struct upkeep_past *past,
                                bool no_space, int64_t now_s)
{
	if (no_space) {
		/* Farther away than any is set: the clock was set back. */
		bool may = now_s >= past->recover_s || past->recover_s > now_s + UPKEEP_AGAIN_S;

		return watch->recover_space && may ? UPKEEP_RECOVER : UPKEEP_NOTHING;
	}
	if (watch->defrag.enabled &&
	    schedule_previous(&watch->defrag.schedule, watch->zone, now_s) > past->defrag_s)
		return UPKEEP_DEFRAG;
	return UPKEEP_NOTHING;
}

/* Recovering takes no lock, and moves the leadership on its way: one who leads then would begin a
 * second. Whether that voter is healthy does not matter, since the plan wants all to be. */
static const struct survey_member *first_voter(const struct survey *survey)
{
	const struct survey_member *first = NULL;

	for (size_t i = 0; i < survey->n_members; i++) {
		const struct survey_member *m = &survey->members[i];

		if (m->listed && !m->learner && (first == NULL || m->id < first->id))
			first = m;
	}
	return first;
}

const struct survey_member *upkeepdue_whose(enum upkeep_what what, const struct survey *survey)
{
	return what == UPKEEP_RECOVER ? first_voter(survey) : survey_leader(survey);
}
