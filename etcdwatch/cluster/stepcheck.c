/* SPDX-License-Identifier: Apache-2.0 */
/* A plan is as old as the look that it was made from: the same questions are asked once more. */
#include "etcdwatch/cluster/stepcheck.h"

#include <stdio.h>

#include "etcdwatch/cluster/quorumsafe.h"

const struct survey_member *stepcheck_whom(const struct step *step, const struct survey *survey)
{
	const struct survey_member *m;

	switch (step->kind) {
	case STEP_MOVE_LEADER:
		m = survey_find_id(survey, step->member);
		return m != NULL && m->answer != NULL && m->answer->answers ? m : NULL;
	case STEP_REMOVE:
	case STEP_DISARM:
		m = survey_leader(survey);
		/* Its endpoint may not be one of ours; any other healthy member passes it on. */
		if (m == NULL || !quorumsafe_is_healthy(m) || m->id == step->member)
			m = quorumsafe_successor(survey, survey_find_id(survey, step->member));
		return m;
	}
	return NULL;
}

static bool may_move(const struct step *step, const struct survey *survey, const char **ret_why)
{
	const struct survey_member *leader = survey_leader(survey);
	const struct survey_member *to = survey_find_id(survey, step->target);

	*ret_why = "it does not lead any more";
	if (leader == NULL || leader->id != step->member)
		return false;
	*ret_why = "who was to lead is not healthy";
	return to != NULL && !to->learner && quorumsafe_is_healthy(to);
}

bool stepcheck_may_begin(const struct step *step, const struct survey *survey,
                         char why[static STEPS_TEXT_MAX])
{
	const struct survey_member *m = survey_find_id(survey, step->member);
	char reason[QUORUMSAFE_TEXT_MAX] = "";
	const char *text = reason;
	bool may = true;

	switch (step->kind) {
	case STEP_MOVE_LEADER:
		may = may_move(step, survey, &text);
		break;
	case STEP_REMOVE:
		may = m != NULL && quorumsafe_may_go(survey, m, reason);
		if (m == NULL)
			text = "it is no member any more";
		break;
	case STEP_DISARM:
		break;
	}
	if (may && stepcheck_whom(step, survey) == NULL) {
		text = "nobody answers who could do it";
		may = false;
	}
	(void) snprintf(why, STEPS_TEXT_MAX, "%s", may ? "" : text);
	return may;
}

bool stepcheck_is_done(const struct step *step, const struct survey *survey)
{
	const struct survey_member *leader = survey_leader(survey);
	const struct survey_member *m = survey_find_id(survey, step->member);

	switch (step->kind) {
	case STEP_MOVE_LEADER:
		return leader != NULL && leader->id == step->target;
	case STEP_REMOVE:
		/* Only a list of one with a quorum says so. */
		return leader != NULL && (m == NULL || !m->listed);
	case STEP_DISARM:
		return survey->alarms_known && !survey_has_alarm(survey, step->member, step->alarm);
	}
	return false;
}
