/* SPDX-License-Identifier: Apache-2.0 */
#include "etcdwatch/steer/plans.h"

#include <stdio.h>

#include "base/macro.h"
#include "etcdwatch/steer/steps.h"

/* --- plan_defrag --- */

/*
 * Followers first, the leader last and not while it leads: it hands that to one that is done with
 * it. Only when all are well, since a member is as good as gone while it writes its database anew.
 * Learners are left alone: they take their data from the leader, and will be defragmented as
 * voters.
 */

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

/* --- plan_disarm --- */

/*
 * An alarm is a lock that somebody has to open who knows that the reason is gone. NOSPACE comes
 * back with the next write where a database is as large as it may be; CORRUPT says that members do
 * not agree, which no disarming heals.
 */

/* True: it may be disarmed. */
static bool has_room(const struct survey *survey, const struct etcd_alarm *alarm,
                     const struct plan_disarm_options *options, struct steps *steps)
{
	const struct survey_member *m = survey_find_id(survey, alarm->member_id);
	const struct survey_answer *a = m != NULL ? m->answer : NULL;
	const char *name = survey_alarm_owner(survey, alarm);

	if (m == NULL)
		return true;
	if (a == NULL || !a->answers || a->quota_bytes <= 0) {
		if (!options->unchecked)
			steps_refuse(steps,
			             "%s: its %s is not known: --unchecked disarms it nevertheless, and it "
			             "comes back if there is no room",
			             name, a == NULL || !a->answers ? "size" : "quota");
		return options->unchecked;
	}
	if (!stepcheck_has_room(a->db_bytes, a->quota_bytes)) {
		steps_refuse(steps,
		             "%s has no room yet, %lld bytes of %lld: compact and defragment first, which "
		             "'fairlead etcd recover-space' does",
		             name, (long long) a->db_bytes, (long long) a->quota_bytes);
		return false;
	}
	return true;
}

void plan_disarm(const struct survey *survey, const struct plan_disarm_options *options,
                 struct steps *ret_steps)
{
	*ret_steps = (struct steps){0};
	if (!survey->alarms_known) {
		steps_refuse(ret_steps, "the alarms are not known: the cluster has no leader");
		return;
	}
	for (size_t i = 0; i < survey->n_alarms && ret_steps->refusal[0] == '\0'; i++) {
		const struct etcd_alarm *alarm = &survey->alarms[i];
		const struct survey_member *m = survey_find_id(survey, alarm->member_id);
		struct step *step;

		if (alarm->type == ETCD_ALARM_CORRUPT && !options->corrupt_too) {
			steps_note(ret_steps,
			           "CORRUPT of %s stays: members' data differ; once you know which is right, "
			           "--corrupt-too disarms it",
			           survey_alarm_owner(survey, alarm));
			continue;
		}
		if (alarm->type == ETCD_ALARM_NOSPACE && !has_room(survey, alarm, options, ret_steps))
			return;
		step = steps_add_disarm(ret_steps, survey, alarm);
		if (alarm->type == ETCD_ALARM_NOSPACE && m != NULL && m->answer != NULL)
			step->quota_bytes = m->answer->quota_bytes;
	}
}

/* --- plan_members --- */

/*
 * Who leads, and who is a member. A member that leads hands that over before it goes: without, the
 * cluster would wait for an election.
 */

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
