/* SPDX-License-Identifier: Apache-2.0 */
/* What is in the databases, how full they are, and how the members' disks keep up. */
#include "etcdwatch/rules/rules_priv.h"

#include <stdio.h>

#define MIB INT64_C(1048576)
#define QUOTA_PERCENT 95
#define RUNWAY_S 14400.0
#define FRAGMENTED_MIN_BYTES (100 * MIB)
#define COMMIT_MAX_S 0.25
#define FSYNC_SLOW_S 0.5
#define FSYNC_VERY_SLOW_S 1.0
#define FAILED_MAX_PER_S 5.0

/* Smaller parts of what fills etcd are not worth a word. */
#define PART_MIN_PERCENT 5
#define FILLED_MAX (OBSERVATION_PARTS_MAX * (OBSERVATION_TEXT_MAX + 32) + 64)

/* "; in the newest snapshot 81 % is '/registry/events', 9 % '/registry/leases'", or "". */
static const char *filled(const struct observation *o, char buf[static FILLED_MAX])
{
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < o->n_parts && o->parts[i].percent >= PART_MIN_PERCENT; i++)
		len += (size_t) snprintf(buf + len, FILLED_MAX - len, "%s%d %% %s'%s'",
		                         i == 0 ? "; in the newest snapshot " : ", ", o->parts[i].percent,
		                         i == 0 ? "is " : "", o->parts[i].prefix);
	return buf;
}

/* --- alarms --- */

static void alarm_of(const struct rules_asked *a, const struct observation_member *m, bool stands,
                     const char *alarm, const char *more)
{
	char name[VIEW_NAME_MAX];

	if (stands)
		rules_hit_member(a, m, "the alarm %s stands for %s%s", alarm, rules_name(m, name), more);
	else if (!a->o->alarms_known)
		rules_unknown_member(a, m);
}

static void alarm_of_other(const struct rules_asked *a, bool stands, const char *alarm,
                           const char *more)
{
	if (stands)
		rules_hit_cluster(a, "the alarm %s stands, for none of the members%s", alarm, more);
	else if (!a->o->alarms_known)
		rules_unknown_cluster(a);
}

void rules_no_space(const struct rules_asked *a)
{
	char more[FILLED_MAX];

	(void) filled(a->o, more);
	for (size_t i = 0; i < a->o->n_members; i++)
		alarm_of(a, &a->o->members[i], a->o->members[i].no_space, "NOSPACE", more);
	alarm_of_other(a, a->o->other_no_space, "NOSPACE", more);
}

void rules_corrupt(const struct rules_asked *a)
{
	for (size_t i = 0; i < a->o->n_members; i++)
		alarm_of(a, &a->o->members[i], a->o->members[i].corrupt, "CORRUPT", "");
	alarm_of_other(a, a->o->other_corrupt, "CORRUPT", "");
}

/* --- what they hold --- */

void rules_data(const struct rules_asked *a)
{
	char name[VIEW_NAME_MAX];

	if (a->o->data == OBSERVED_BAD)
		rules_hit_cluster(a, "members hold different data, and no majority says whose are right");
	else if (a->o->data == OBSERVED_NOTHING)
		rules_unknown_cluster(a);
	for (size_t i = 0; i < a->o->n_members; i++) {
		const struct observation_member *m = &a->o->members[i];

		if (m->data == OBSERVED_BAD)
			rules_hit_member(a, m, "%s holds other data than most members at the same revision",
			                 rules_name(m, name));
		else if (m->data == OBSERVED_NOTHING)
			rules_unknown_member(a, m);
	}
}

/* --- room --- */

void rules_quota(const struct rules_asked *a)
{
	char name[VIEW_NAME_MAX], more[FILLED_MAX];

	(void) filled(a->o, more);
	for (size_t i = 0; i < a->o->n_members; i++) {
		const struct observation_member *m = &a->o->members[i];

		if (!rules_answers(m) || m->quota_bytes <= 0)
			rules_unknown_member(a, m);
		else if (m->db_bytes / 100 >= m->quota_bytes / 10000 * QUOTA_PERCENT)
			rules_hit_member(a, m, "the database of %s has %lld MiB of a quota of %lld MiB%s",
			                 rules_name(m, name), (long long) (m->db_bytes / MIB),
			                 (long long) (m->quota_bytes / MIB), more);
	}
}

void rules_runway(const struct rules_asked *a)
{
	char name[VIEW_NAME_MAX], more[FILLED_MAX];

	(void) filled(a->o, more);
	for (size_t i = 0; i < a->o->n_members; i++) {
		const struct observation_member *m = &a->o->members[i];
		double growth = 0, left_s;

		if (!trend_runway(a->trend, m, &left_s) || !trend_growth(a->trend, m->id, &growth))
			rules_unknown_member(a, m);
		else if (left_s < RUNWAY_S)
			rules_hit_member(a, m,
			                 "the database of %s grows by %.1f MiB an hour and reaches its quota "
			                 "in %.0f minutes%s",
			                 rules_name(m, name), growth * 3600 / (double) MIB, left_s / 60, more);
	}
}

void rules_fragmented(const struct rules_asked *a)
{
	char name[VIEW_NAME_MAX];

	for (size_t i = 0; i < a->o->n_members; i++) {
		const struct observation_member *m = &a->o->members[i];

		if (!rules_answers(m))
			rules_unknown_member(a, m);
		else if (m->in_use_bytes > FRAGMENTED_MIN_BYTES && m->in_use_bytes < m->db_bytes / 2)
			rules_hit_member(a, m, "%s uses %lld MiB of the %lld MiB of its database",
			                 rules_name(m, name), (long long) (m->in_use_bytes / MIB),
			                 (long long) (m->db_bytes / MIB));
	}
}

/* --- disks --- */

void rules_fsync(const struct rules_asked *a)
{
	double limit_s = a->rule == RULE_FSYNC_VERY_SLOW ? FSYNC_VERY_SLOW_S : FSYNC_SLOW_S;
	char name[VIEW_NAME_MAX];
	double s;

	for (size_t i = 0; i < a->o->n_members; i++) {
		const struct observation_member *m = &a->o->members[i];

		if (!trend_fsync_p99(a->trend, m->id, &s))
			rules_unknown_member(a, m);
		else if (s > limit_s)
			rules_hit_member(a, m, "1 %% of the fsyncs of %s take longer than %.2f s",
			                 rules_name(m, name), s);
	}
}

void rules_commit(const struct rules_asked *a)
{
	char name[VIEW_NAME_MAX];
	double s;

	for (size_t i = 0; i < a->o->n_members; i++) {
		const struct observation_member *m = &a->o->members[i];

		if (!trend_commit_p99(a->trend, m->id, &s))
			rules_unknown_member(a, m);
		else if (s > COMMIT_MAX_S)
			rules_hit_member(a, m, "1 %% of the commits of %s take longer than %.2f s",
			                 rules_name(m, name), s);
	}
}

void rules_proposals(const struct rules_asked *a)
{
	char name[VIEW_NAME_MAX];
	double per_s;

	for (size_t i = 0; i < a->o->n_members; i++) {
		const struct observation_member *m = &a->o->members[i];

		if (!trend_proposals_failed(a->trend, m->id, &per_s))
			rules_unknown_member(a, m);
		else if (per_s > FAILED_MAX_PER_S)
			rules_hit_member(a, m, "%.1f proposals of %s fail each second", per_s,
			                 rules_name(m, name));
	}
}
