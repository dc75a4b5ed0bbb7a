/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An alarm is a lock that somebody has to open who knows that the reason is gone. NOSPACE comes
 * back with the next write where a database is as large as it may be; CORRUPT says that members do
 * not agree, which no disarming heals.
 */
#include "etcdwatch/steer/plans.h"

#include "etcdwatch/steer/stepcheck.h"

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
