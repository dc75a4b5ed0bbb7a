/* SPDX-License-Identifier: Apache-2.0 */
/* What the cluster stands on: certificates, clocks, disks, snapshots, the record. */
#include "etcdwatch/rules/rules_priv.h"

#include <stdio.h>
#include <string.h>

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
