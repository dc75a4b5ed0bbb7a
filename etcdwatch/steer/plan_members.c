/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who leads, and who is a member. A member that leads hands that over before it goes: without, the
 * cluster would wait for an election.
 */
#include <stdio.h>

#include "etcdwatch/steer/plans.h"
#include "etcdwatch/steer/quorumsafe.h"

/* This machine's own; should there be several, none is picked. */
static const struct survey_member *own(const struct survey *survey, struct steps *steps)
{
	const struct survey_member *found = NULL;
	size_t n = 0;

	for (size_t i = 0; i < survey->n_members; i++) {
		if (survey->members[i].local && survey->members[i].listed) {
			found = &survey->members[i];
			n++;
		}
	}
	if (n == 0)
		steps_refuse(steps, "no member of the cluster is this machine's");
	if (n > 1)
		steps_refuse(
		    steps,
		    "%zu members are this machine's, and one must be meant: remove-member takes its ID", n);
	return n == 1 ? found : NULL;
}

static bool move_from(const struct survey *survey, const struct survey_member *member,
                      struct steps *steps)
{
	const struct survey_member *to = quorumsafe_successor(survey, member);
	struct step *step;

	if (to == NULL)
		return false;
	step = steps_add(steps, STEP_MOVE_LEADER, member);
	step->target = to->id;
	(void) snprintf(step->target_name, sizeof(step->target_name), "%.*s", SURVEY_NAME_MAX - 1,
	                survey_member_name(to));
	return true;
}

void plan_forfeit(const struct survey *survey, struct steps *ret_steps)
{
	const struct survey_member *leader = survey_leader(survey);
	const struct survey_member *member;

	*ret_steps = (struct steps){0};
	if (leader == NULL) {
		steps_refuse(ret_steps, "the cluster has no leader: nobody answers a read");
		return;
	}
	/* Of several that are this machine's, the one that leads is meant. */
	member = leader->local ? leader : own(survey, ret_steps);
	if (member == NULL)
		return;
	if (member != leader)
		steps_note(ret_steps, "%s leads already, not %s", survey_member_name(leader),
		           survey_member_name(member));
	else if (!move_from(survey, member, ret_steps))
		steps_refuse(ret_steps, "no other voter is healthy: nobody can lead instead of %s",
		             survey_member_name(member));
}

static void plan_going(const struct survey *survey, const struct survey_member *member,
                       struct steps *steps)
{
	char why[QUORUMSAFE_TEXT_MAX];

	if (!quorumsafe_may_go(survey, member, why)) {
		steps_refuse(steps, "%s must not go: %s", survey_member_name(member), why);
		return;
	}
	if (why[0] != '\0')
		steps_note(steps, "%s", why);
	if (member == survey_leader(survey) && !move_from(survey, member, steps)) {
		steps_refuse(steps, "%s leads, and no other voter may: the others have the alarm CORRUPT",
		             survey_member_name(member));
		return;
	}
	(void) steps_add(steps, STEP_REMOVE, member);
	steps_note(steps,
	           "its etcd ends, and cannot come back with the data that it has: before it joins "
	           "again, move its data directory aside");
}

void plan_leave(const struct survey *survey, struct steps *ret_steps)
{
	const struct survey_member *member;

	*ret_steps = (struct steps){0};
	member = own(survey, ret_steps);
	if (member != NULL)
		plan_going(survey, member, ret_steps);
}

void plan_remove(const struct survey *survey, const char *word, struct steps *ret_steps)
{
	const struct survey_member *member = survey_find(survey, word);

	*ret_steps = (struct steps){0};
	if (survey_count(survey, word) > 1)
		steps_refuse(ret_steps, "%zu members are called '%s': say which by its ID",
		             survey_count(survey, word), word);
	else if (member == NULL)
		steps_refuse(ret_steps, "no member '%s': 'fairlead etcd members' lists them", word);
	else
		plan_going(survey, member, ret_steps);
}
