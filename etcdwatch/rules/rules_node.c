/* SPDX-License-Identifier: Apache-2.0 */
/* What the cluster stands on: certificates, clocks, disks, snapshots, the record. */
#include "etcdwatch/rules/rules_priv.h"

#include <stdio.h>

#define DAY_S INT64_C(86400)
#define MIB INT64_C(1048576)
#define WARNING_DAYS 14
#define CRITICAL_DAYS 7
#define SKEW_US US_PER_S
#define DISK_LOW_PERCENT 10
#define DISK_VERY_LOW_PERCENT 2
#define DISK_VERY_LOW_BYTES (256 * MIB)

#define RECORD_BEHIND_S 60
#define RECORD_FAR_BEHIND_S 240

#define TIME_TEXT_MAX 48

/* "ends in 6 days", "ended 3 hours ago" */
static const char *ends_text(int64_t left_s, char buf[static TIME_TEXT_MAX])
{
	int64_t s = left_s >= 0 ? left_s : -left_s;
	bool days = s >= 2 * DAY_S;

	(void) snprintf(buf, TIME_TEXT_MAX, left_s >= 0 ? "ends in %lld %s" : "ended %lld %s ago",
	                (long long) (days ? s / DAY_S : s / 3600), days ? "days" : "hours");
	return buf;
}

void rules_certificate(const struct rules_asked *a)
{
	bool soon = a->rule == RULE_CERTIFICATE_EXPIRES_SOON;
	int64_t limit_s = (soon ? CRITICAL_DAYS : WARNING_DAYS) * DAY_S;
	char name[VIEW_NAME_MAX], text[TIME_TEXT_MAX];

	for (size_t i = 0; i < a->o->n_files; i++) {
		const struct observation_file *file = &a->o->files[i];

		if (file->not_after_s - a->o->wall_s < limit_s)
			rules_hit_name(a, file->path, "the certificate %s %s", file->path,
			               ends_text(file->not_after_s - a->o->wall_s, text));
	}
	for (size_t i = 0; i < a->o->n_members; i++) {
		const struct observation_member *m = &a->o->members[i];

		if (m->not_after_s == 0)
			rules_unknown_member(a, m);
		else if (m->not_after_s - a->o->wall_s < limit_s)
			rules_hit_member(a, m, "the certificate that %s presents %s", rules_name(m, name),
			                 ends_text(m->not_after_s - a->o->wall_s, text));
	}
}

void rules_clock(const struct rules_asked *a)
{
	char name[VIEW_NAME_MAX];

	for (size_t i = 0; i < a->o->n_members; i++) {
		const struct observation_member *m = &a->o->members[i];

		if (!m->clock_known)
			rules_unknown_member(a, m);
		else if (m->ahead_least_us > SKEW_US)
			rules_hit_member(a, m, "the clock of %s is ahead of this node's by %.1f s or more",
			                 rules_name(m, name), (double) m->ahead_least_us / (double) US_PER_S);
		else if (m->ahead_most_us < -SKEW_US)
			rules_hit_member(a, m, "the clock of %s is behind this node's by %.1f s or more",
			                 rules_name(m, name), (double) -m->ahead_most_us / (double) US_PER_S);
	}
}

/* A defragmentation writes a second database of what is in use. */
static int64_t defragmentation_bytes(const struct observation *o)
{
	int64_t bytes = 0;

	for (size_t i = 0; i < o->n_members; i++) {
		if (rules_answers(&o->members[i]))
			bytes = MAX(bytes, o->members[i].in_use_bytes);
	}
	return bytes;
}

void rules_disk(const struct rules_asked *a)
{
	const struct observation *o = a->o;
	bool very = a->rule == RULE_DISK_VERY_LOW;
	int64_t percent = very ? DISK_VERY_LOW_PERCENT : DISK_LOW_PERCENT;
	int64_t bytes = very ? DISK_VERY_LOW_BYTES : defragmentation_bytes(o);

	if (!o->disk_known)
		rules_unknown_cluster(a);
	else if (o->free_bytes < bytes || o->free_bytes / percent < o->total_bytes / 100)
		rules_hit_cluster(a, "%lld MiB of %lld MiB are free where %s is",
		                  (long long) (o->free_bytes / MIB), (long long) (o->total_bytes / MIB),
		                  o->data_directory);
}

void rules_snapshot(const struct rules_asked *a)
{
	for (size_t i = 0; i < a->o->n_jobs; i++) {
		const struct observation_job *job = &a->o->jobs[i];

		if (a->o->wall_s < job->overdue_s)
			continue;
		if (job->good_s == 0)
			rules_hit_name(a, job->name, "job %s: no proven snapshot since etcdwatch was started",
			               job->name);
		else
			rules_hit_name(a, job->name, "job %s: the newest proven snapshot is %lld hours old",
			               job->name, (long long) ((a->o->wall_s - job->good_s) / 3600));
	}
}

void rules_drill(const struct rules_asked *a)
{
	for (size_t i = 0; i < a->o->n_jobs; i++) {
		if (a->o->jobs[i].drill_overdue)
			rules_hit_name(a, a->o->jobs[i].name,
			               "job %s: no drill has shown in time that its snapshots can come back",
			               a->o->jobs[i].name);
	}
}

/* A chain goes on from a snapshot of the revision before its first, or of a later one. */
void rules_record_gap(const struct rules_asked *a)
{
	const struct observation_record *r = &a->o->record;

	if (!r->enabled || (r->first_revision > 0 && r->base_revision >= r->first_revision - 1))
		return;
	if (r->first_revision == 0)
		rules_unknown_cluster(a);
	else if (r->last_lost > 0)
		rules_hit_cluster(
		    a,
		    "revisions %lld to %lld are lost to the record (%s), and no proven snapshot "
		    "is of the last of them or a later one",
		    (long long) r->first_lost, (long long) r->last_lost, r->lost_why);
	else if (r->lost_why[0] != '\0')
		rules_hit_cluster(
		    a,
		    "the record begins anew with revision %lld (%s), and no proven snapshot is "
		    "one that it goes on from",
		    (long long) r->first_revision, r->lost_why);
	else if (r->base_revision > 0)
		rules_hit_cluster(a,
		                  "the record begins with revision %lld, and the newest proven snapshot is "
		                  "of revision %lld",
		                  (long long) r->first_revision, (long long) r->base_revision);
	else
		rules_hit_cluster(a,
		                  "the record begins with revision %lld, and there is no proven snapshot",
		                  (long long) r->first_revision);
}

void rules_record_target(const struct rules_asked *a)
{
	const struct observation_record *r = &a->o->record;

	for (size_t i = 0; i < r->n_targets; i++) {
		const struct observation_record_target *t = &r->targets[i];

		if (t->lacks_s > t->limit_s)
			rules_hit_name(a, t->name, "it lacks what was recorded in the last %lld s%s%s",
			               (long long) t->lacks_s, t->error[0] != '\0' ? ": " : "", t->error);
	}
}

void rules_record_behind(const struct rules_asked *a)
{
	const struct observation_record *r = &a->o->record;
	int64_t limit_s = a->rule == RULE_RECORD_FAR_BEHIND ? RECORD_FAR_BEHIND_S : RECORD_BEHIND_S;
	const char *colon = r->enabled && r->error[0] != '\0' ? ": " : "";

	if (!r->enabled || r->behind_s <= limit_s)
		return;
	if (r->reached_s > 0)
		rules_hit_cluster(a, "what is recorded ends %lld s ago%s%s", (long long) r->behind_s, colon,
		                  r->error);
	else
		rules_hit_cluster(a, "nothing has been recorded since etcdwatch was started%s%s", colon,
		                  r->error);
}

/* --- rules_data --- */

/* What is in the databases, how full they are, and how the members' disks keep up. */

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
