/* SPDX-License-Identifier: Apache-2.0 */
/* Adding to a plan, and saying what is in it. */
#include "etcdwatch/steer/steps.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/jsonval.h"
#include "etcdwatch/cluster/surveyjson.h"

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
