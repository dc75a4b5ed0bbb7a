/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Followers first, the leader last and not while it leads: it hands that to one that is done with
 * it. Only when all are well, since a member is as good as gone while it writes its database anew.
 * Learners are left alone: they take their data from the leader, and will be defragmented as
 * voters.
 */
#include <stdio.h>

#include "base/macro.h"
#include "etcdwatch/steer/plans.h"
#include "etcdwatch/steer/quorumsafe.h"
#include "etcdwatch/steer/stepcheck.h"

/* Less is not worth a stall. */
const struct plan_defrag_options plan_defrag_by_hand = {
    .least_free_bytes = INT64_C(1) << 20,
    .least_free = 20,
    .disk_free_bytes = -1,
};

static int64_t free_bytes(const struct survey_member *m)
{
	return m->answer->db_bytes - m->answer->in_use_bytes;
}

static bool is_worth_it(const struct survey_member *m, const struct plan_defrag_options *options)
{
	return m->answer->db_bytes >= options->least_db_bytes &&
	       free_bytes(m) >= options->least_free_bytes &&
	       free_bytes(m) >= m->answer->db_bytes / 100 * options->least_free;
}

static void add(struct steps *steps, const struct survey_member *m)
{
	struct step *step = steps_add(steps, STEP_DEFRAGMENT, m);

	step->db_bytes = m->answer->db_bytes;
	step->free_bytes = free_bytes(m);
}

static void add_leader(const struct survey *survey, const struct survey_member *leader,
                       struct steps *steps)
{
	const struct survey_member *to = quorumsafe_successor(survey, leader);
	struct step *step;

	if (to == NULL) {
		steps_note(steps, "%s is the only voter: its clients wait meanwhile",
		           survey_member_name(leader));
		add(steps, leader);
		return;
	}
	step = steps_add(steps, STEP_MOVE_LEADER, leader);
	step->target = to->id;
	(void) snprintf(step->target_name, sizeof(step->target_name), "%.*s", SURVEY_NAME_MAX - 1,
	                survey_member_name(to));
	add(steps, leader);
}

/* All voters for whom it is worth it; options NULL: all. */
static void add_all(const struct survey *survey, const struct plan_defrag_options *options,
                    struct steps *steps)
{
	const struct survey_member *leader = survey_leader(survey);

	for (size_t i = 0; i < survey->n_members; i++) {
		const struct survey_member *m = &survey->members[i];

		if (m->listed && m->learner)
			steps_note(steps, "%s is a learner and left as it is", survey_member_name(m));
		else if (m->listed && m != leader && (options == NULL || is_worth_it(m, options)))
			add(steps, m);
	}
	if (options == NULL || is_worth_it(leader, options))
		add_leader(survey, leader, steps);
}

/* The new database lies beside the old one until it is whole. */
static void check_disk(const struct survey *survey, int64_t disk_free_bytes, struct steps *steps)
{
	bool others = false;

	for (size_t i = 0; i < steps->n; i++) {
		const struct survey_member *m = survey_find_id(survey, steps->items[i].member);

		if (steps->items[i].kind != STEP_DEFRAGMENT)
			continue;
		if (!m->local || disk_free_bytes < 0) {
			others = true;
		} else if (m->answer->in_use_bytes > disk_free_bytes) {
			steps_refuse(steps, "%s: its disk has %lld bytes free, and the database %lld in use",
			             survey_member_name(m), (long long) disk_free_bytes,
			             (long long) m->answer->in_use_bytes);
			return;
		}
	}
	if (others)
		steps_note(steps, "each needs as much free disk as its database has in use, which is known "
		                  "of this node's at most");
}

void plan_defrag(const struct survey *survey, const char *word,
                 const struct plan_defrag_options *options, struct steps *ret_steps)
{
	const struct survey_member *m = word != NULL ? survey_find(survey, word) : NULL;
	char why[STEPS_TEXT_MAX];

	*ret_steps = (struct steps){0};
	if (!stepcheck_all_well(survey, why))
		steps_refuse(ret_steps, "%s", why);
	else if (word != NULL && survey_count(survey, word) > 1)
		steps_refuse(ret_steps, "%zu members are called '%s': say which by its ID",
		             survey_count(survey, word), word);
	else if (word != NULL && (m == NULL || !m->listed))
		steps_refuse(ret_steps, "no member '%s': 'fairlead etcd members' lists them", word);
	else if (m != NULL && m->learner)
		steps_refuse(ret_steps, "%s is a learner", survey_member_name(m));
	else if (m != NULL && m == survey_leader(survey))
		add_leader(survey, m, ret_steps);
	else if (m != NULL)
		add(ret_steps, m);
	else
		add_all(survey, options, ret_steps);
	check_disk(survey, options->disk_free_bytes, ret_steps);
}

/* --- from NOSPACE back --- */

static int64_t newest_revision(const struct survey *survey)
{
	int64_t newest = 0;

	for (size_t i = 0; i < survey->n_answers; i++)
		newest = MAX(newest, survey->answers[i].revision);
	return newest;
}

/* Of those that are gone, and of the cluster: writes are refused for them, too. */
static void add_disarms_of_others(const struct survey *survey, struct steps *steps)
{
	for (size_t i = 0; i < survey->n_alarms; i++) {
		const struct survey_member *m = survey_find_id(survey, survey->alarms[i].member_id);

		if (survey->alarms[i].type == ETCD_ALARM_NOSPACE && (m == NULL || !m->listed))
			(void) steps_add_disarm(steps, survey, &survey->alarms[i]);
	}
}

/* Of all who have it or are full as well: another one may raise its own meanwhile. */
static void add_disarms(const struct survey *survey, struct steps *steps)
{
	for (size_t i = 0; i < survey->n_members; i++) {
		const struct survey_member *m = &survey->members[i];
		struct step *step;

		if (!m->listed || (m->learner && !survey_has_alarm(survey, m->id, ETCD_ALARM_NOSPACE)))
			continue;
		step = steps_add(steps, STEP_DISARM, m);
		step->alarm = ETCD_ALARM_NOSPACE;
		step->quota_bytes = m->answer->quota_bytes;
		if (step->quota_bytes > 0)
			continue;
		steps_refuse(steps, "%s: its quota is not known, and so not whether there is room",
		             survey_member_name(m));
		return;
	}
	add_disarms_of_others(survey, steps);
}

void plan_recover(const struct survey *survey, int64_t disk_free_bytes, struct steps *ret_steps)
{
	static const struct survey_member all = {.name = "all"};
	char why[STEPS_TEXT_MAX];
	bool full = false;

	*ret_steps = (struct steps){0};
	for (size_t i = 0; i < survey->n_alarms; i++)
		full |= survey->alarms[i].type == ETCD_ALARM_NOSPACE;
	if (survey->alarms_known && !full) {
		steps_note(ret_steps, "the alarm NOSPACE does not stand");
		return;
	}
	if (!stepcheck_all_well(survey, why)) {
		steps_refuse(ret_steps, "%s", why);
		return;
	}
	if (!full) {
		steps_refuse(ret_steps, "the alarms are not known: try again");
		return;
	}
	steps_add(ret_steps, STEP_COMPACT, &all)->revision = newest_revision(survey);
	add_all(survey, NULL, ret_steps);
	add_disarms(survey, ret_steps);
	check_disk(survey, disk_free_bytes, ret_steps);
	steps_note(ret_steps, "who watches from an older revision has to read everything anew");
	steps_note(ret_steps, "what is in use stays: find out what fills it, or it is full again soon");
}
