/* SPDX-License-Identifier: Apache-2.0 */
/* A plan is as old as the look that it was made from: the same questions are asked once more. */
#include "etcdwatch/steer/stepcheck.h"

#include <errno.h>
#include <stdio.h>

#include "etcdwatch/steer/quorumsafe.h"

/* Less than a twentieth is no room: the next writes would fill it. */
#define ROOM_SHARE 20
/* Entries of raft. */
#define LAG_MAX 5000
#define LAG_OLD_MAX 100

const struct survey_member *stepcheck_whom(const struct step *step, const struct survey *survey)
{
	const struct survey_member *m;

	switch (step->kind) {
	case STEP_MOVE_LEADER:
	case STEP_DEFRAGMENT:
		m = survey_find_id(survey, step->member);
		return m != NULL && m->answer != NULL && m->answer->answers ? m : NULL;
	case STEP_REMOVE:
	case STEP_DISARM:
	case STEP_COMPACT:
		m = survey_leader(survey);
		/* Its endpoint may not be one of ours; any other healthy member passes it on. */
		if (m == NULL || !quorumsafe_is_healthy(m) || m->id == step->member)
			m = quorumsafe_successor(survey, survey_find_id(survey, step->member));
		return m;
	}
	return NULL;
}

bool stepcheck_has_room(int64_t db_bytes, int64_t quota_bytes)
{
	return db_bytes <= quota_bytes - quota_bytes / ROOM_SHARE;
}

/* --- all well --- */

/* Before these, no member is to be defragmented while another catches up. */
static bool is_old(const char *version)
{
	unsigned minor, patch;

	if (sscanf(version, "3.%u.%u", &minor, &patch) != 2)
		return true;
	return minor < 4 || (minor == 4 && patch < 38) || (minor == 5 && patch < 23) ||
	       (minor == 6 && patch < 5);
}

static const char *member_ill(const struct survey *survey, const struct survey_member *m,
                              const struct survey_member *leader)
{
	uint64_t most = leader->answer->raft_applied_index;

	if (survey_has_alarm(survey, m->id, ETCD_ALARM_CORRUPT))
		return "its alarm CORRUPT stands";
	if (!m->learner && !quorumsafe_is_healthy(m))
		return "it is not healthy";
	if (m->answer == NULL || !m->answer->answers)
		return m->learner ? "it does not say how far it is" : NULL;
	if (m->answer->raft_applied_index + (is_old(m->answer->version) ? LAG_OLD_MAX : LAG_MAX) < most)
		return "it has yet to catch up with the leader";
	return NULL;
}

bool stepcheck_all_well(const struct survey *survey, char why[static STEPS_TEXT_MAX])
{
	const struct survey_member *leader = survey_leader(survey);

	why[0] = '\0';
	if (!survey->listed || leader == NULL || leader->answer == NULL) {
		(void) snprintf(why, STEPS_TEXT_MAX, "the cluster has no leader that answers");
		return false;
	}
	for (size_t i = 0; i < survey->n_members && why[0] == '\0'; i++) {
		const struct survey_member *m = &survey->members[i];
		const char *ill = m->listed ? member_ill(survey, m, leader) : NULL;

		if (ill != NULL)
			(void) snprintf(why, STEPS_TEXT_MAX, "%s: %s", survey_member_name(m), ill);
	}
	if (why[0] == '\0' && survey_any_alarm(survey, ETCD_ALARM_CORRUPT))
		(void) snprintf(why, STEPS_TEXT_MAX,
		                "the alarm CORRUPT stands, for no member that is listed: nobody knows who "
		                "is right");
	return why[0] == '\0';
}

/* --- steps --- */

static bool may_defragment(const struct survey *survey, const struct survey_member *m,
                           char why[static STEPS_TEXT_MAX])
{
	if (!stepcheck_all_well(survey, why))
		return false;
	if (m == survey_leader(survey) && quorumsafe_count(survey).n_voters > 1) {
		(void) snprintf(why, STEPS_TEXT_MAX, "it leads now");
		return false;
	}
	return true;
}

static bool may_disarm(const struct step *step, const struct survey_member *m)
{
	return step->quota_bytes <= 0 || m == NULL || m->answer == NULL || !m->answer->answers ||
	       stepcheck_has_room(m->answer->db_bytes, step->quota_bytes);
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
	char reason[STEPS_TEXT_MAX] = "";
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
		may = may_disarm(step, m);
		text = "it has no room yet";
		break;
	case STEP_COMPACT:
		break;
	case STEP_DEFRAGMENT:
		may = may_defragment(survey, m, reason);
		break;
	}
	if (may && stepcheck_whom(step, survey) == NULL) {
		text = "nobody answers who could do it";
		may = false;
	}
	(void) snprintf(why, STEPS_TEXT_MAX, "%s", may ? "" : text);
	return may;
}

bool stepcheck_may_have_done(const struct step *step, const struct etcd_outcome *outcome)
{
	if (outcome->r == 0)
		return true;
	/* While etcd takes no writes there is no newer revision, and an earlier run has compacted up to
	 * this one, even if it was not told so. */
	if (step->kind == STEP_COMPACT && outcome->r == -ESTALE)
		return true;
	/* What is not answered is seen by what has come about; but a database that is large still, or
	 * small again, tells nothing. */
	return outcome->ambiguous && step->kind != STEP_COMPACT && step->kind != STEP_DEFRAGMENT;
}

bool stepcheck_is_done(const struct step *step, const struct survey *survey)
{
	const struct survey_member *leader = survey_leader(survey);
	const struct survey_member *m = survey_find_id(survey, step->member);
	char why[STEPS_TEXT_MAX];

	switch (step->kind) {
	case STEP_MOVE_LEADER:
		return leader != NULL && leader->id == step->target;
	case STEP_REMOVE:
		/* Only a list of one with a quorum says so. */
		return leader != NULL && (m == NULL || !m->listed);
	case STEP_DISARM:
		return survey->alarms_known && !survey_has_alarm(survey, step->member, step->alarm);
	case STEP_COMPACT:
		return true;
	case STEP_DEFRAGMENT:
		return stepcheck_all_well(survey, why);
	}
	return false;
}
