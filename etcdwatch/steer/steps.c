/* SPDX-License-Identifier: Apache-2.0 */
/* Adding to a plan, and saying what is in it. */
#include "etcdwatch/steer/steps.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/jsonval.h"
#include "etcdwatch/cluster/survey.h"

struct step *steps_add(struct steps *steps, enum step_kind kind, const struct survey_member *member)
{
	struct step *step;

	assert(steps->n < STEPS_MAX);
	step = &steps->items[steps->n++];
	*step = (struct step){.kind = kind, .member = member->id};
	(void) snprintf(step->name, sizeof(step->name), "%.*s", SURVEY_NAME_MAX - 1,
	                survey_member_name(member));
	return step;
}

struct step *steps_add_disarm(struct steps *steps, const struct survey *survey,
                              const struct etcd_alarm *alarm)
{
	struct survey_member owner = {.id = alarm->member_id};
	struct step *step;

	(void) snprintf(owner.name, sizeof(owner.name), "%.*s", SURVEY_NAME_MAX - 1,
	                survey_alarm_owner(survey, alarm));
	step = steps_add(steps, STEP_DISARM, &owner);
	step->alarm = alarm->type;
	return step;
}

void steps_refuse(struct steps *steps, const char *fmt, ...)
{
	va_list ap;

	steps->n = 0;
	if (steps->refusal[0] != '\0')
		return;
	va_start(ap, fmt);
	(void) vsnprintf(steps->refusal, sizeof(steps->refusal), fmt, ap);
	va_end(ap);
}

bool steps_of_one_cluster(const struct survey *survey, struct steps *steps)
{
	if (survey_is_one_cluster(survey))
		return true;
	steps_refuse(steps,
	             "the endpoints lead to different clusters: correct them in EtcdClientConfig");
	return false;
}

void steps_note(struct steps *steps, const char *fmt, ...)
{
	va_list ap;

	if (steps->n_notes == STEPS_NOTES_MAX)
		return;
	va_start(ap, fmt);
	(void) vsnprintf(steps->notes[steps->n_notes++], STEPS_TEXT_MAX, fmt, ap);
	va_end(ap);
}

bool steps_need_lock(const struct steps *steps)
{
	for (size_t i = 0; i < steps->n; i++) {
		if (steps->items[i].kind == STEP_REMOVE)
			return true;
	}
	return false;
}

void step_text(const struct step *step, char text[static STEPS_TEXT_MAX])
{
	switch (step->kind) {
	case STEP_MOVE_LEADER:
		(void) snprintf(text, STEPS_TEXT_MAX, "hand the leadership from %s to %s", step->name,
		                step->target_name);
		return;
	case STEP_REMOVE:
		(void) snprintf(text, STEPS_TEXT_MAX, "remove %s (%" PRIx64 ") from the cluster",
		                step->name, step->member);
		return;
	case STEP_DISARM:
		(void) snprintf(text, STEPS_TEXT_MAX, "disarm %s of %s", surveyjson_alarm_name(step->alarm),
		                step->name);
		return;
	case STEP_COMPACT:
		(void) snprintf(text, STEPS_TEXT_MAX, "compact up to revision %lld",
		                (long long) step->revision);
		return;
	case STEP_DEFRAGMENT:
		(void) snprintf(text, STEPS_TEXT_MAX, "defragment %s (%.1f MB, of them %.1f MB free)",
		                step->name, (double) step->db_bytes / 1e6, (double) step->free_bytes / 1e6);
		return;
	}
}

const char *step_kind_name(enum step_kind kind)
{
	static const char *const names[] = {
	    [STEP_MOVE_LEADER] = "move-leader", [STEP_REMOVE] = "remove",
	    [STEP_DISARM] = "disarm",           [STEP_COMPACT] = "compact",
	    [STEP_DEFRAGMENT] = "defragment",
	};

	return names[kind];
}

json_t *step_json(const struct step *step)
{
	char text[STEPS_TEXT_MAX];
	json_t *object;

	step_text(step, text);
	object = json_pack("{s:s, s:o, s:o, s:o}", "step", step_kind_name(step->kind), "node",
	                   jsonval_text(step->name), "member", surveyjson_id(step->member), "text",
	                   jsonval_text(text));
	if (step->kind == STEP_MOVE_LEADER)
		(void) json_object_set_new(object, "target", jsonval_text(step->target_name));
	if (step->kind == STEP_DISARM)
		(void) json_object_set_new(object, "alarm",
		                           json_string(surveyjson_alarm_name(step->alarm)));
	return object;
}

/* --- quorumsafe --- */

/* Counting voters: with n of them, n / 2 + 1 decide, and a learner counts for nothing. */

bool quorumsafe_is_healthy(const struct survey_member *member)
{
	return member->answer != NULL && member->answer->answers && member->answer->serves &&
	       !member->strays;
}

struct quorumsafe quorumsafe_count(const struct survey *survey)
{
	struct quorumsafe q = {0};

	for (size_t i = 0; i < survey->n_members; i++) {
		const struct survey_member *m = &survey->members[i];

		if (m->learner || !m->listed)
			continue;
		q.n_voters++;
		q.n_healthy += quorumsafe_is_healthy(m);
	}
	return q;
}

size_t quorumsafe_majority(size_t n_voters)
{
	return n_voters / 2 + 1;
}

/* How many more may fail. */
static size_t spare(size_t n_voters, size_t n_healthy)
{
	return n_healthy - MIN(n_healthy, quorumsafe_majority(n_voters));
}

bool quorumsafe_may_go(const struct survey *survey, const struct survey_member *member,
                       char why[static QUORUMSAFE_TEXT_MAX])
{
	struct quorumsafe q = quorumsafe_count(survey);
	size_t n_left = q.n_voters - 1;
	size_t n_healthy_left = q.n_healthy - quorumsafe_is_healthy(member);

	why[0] = '\0';
	if (!member->listed) {
		(void) snprintf(why, QUORUMSAFE_TEXT_MAX,
		                "the cluster does not count it among its members");
		return false;
	}
	if (!survey->listed || q.n_healthy < quorumsafe_majority(q.n_voters)) {
		(void) snprintf(why, QUORUMSAFE_TEXT_MAX,
		                "the cluster has no majority now: %zu of %zu voters answer", q.n_healthy,
		                q.n_voters);
		return false;
	}
	if (member->learner)
		return true;
	if (n_left == 0) {
		(void) snprintf(why, QUORUMSAFE_TEXT_MAX, "it is the only voter: its data would be gone");
		return false;
	}
	if (n_healthy_left < quorumsafe_majority(n_left)) {
		(void) snprintf(
		    why, QUORUMSAFE_TEXT_MAX, "of the %zu voters that stay, %zu answer%s, and it takes %zu",
		    n_left, n_healthy_left, n_healthy_left == 1 ? "s" : "", quorumsafe_majority(n_left));
		return false;
	}
	if (spare(n_left, n_healthy_left) != spare(q.n_voters, q.n_healthy))
		(void) snprintf(why, QUORUMSAFE_TEXT_MAX,
		                "after that the cluster survives the loss of %zu member%s, now of %zu",
		                spare(n_left, n_healthy_left),
		                spare(n_left, n_healthy_left) == 1 ? "" : "s",
		                spare(q.n_voters, q.n_healthy));
	return true;
}

const struct survey_member *quorumsafe_successor(const struct survey *survey,
                                                 const struct survey_member *except)
{
	const struct survey_member *best = NULL;

	for (size_t i = 0; i < survey->n_members; i++) {
		const struct survey_member *m = &survey->members[i];

		if (m == except || m->learner || !m->listed || !quorumsafe_is_healthy(m) ||
		    survey_has_alarm(survey, m->id, ETCD_ALARM_CORRUPT))
			continue;
		if (best == NULL || m->answer->raft_applied_index > best->answer->raft_applied_index)
			best = m;
	}
	return best;
}

/* --- stepcheck --- */

/* A plan is as old as the look that it was made from: the same questions are asked once more. */

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
