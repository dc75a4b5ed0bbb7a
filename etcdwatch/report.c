/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of what is told, and the two ways of telling it. */
#include "etcdwatch/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

/* --- JSON --- */

#define ENTRY(member) offsetof(struct catalog_entry, member)
static const struct jsonval_row good_rows[] = {
    {"last_good_revision", JSONVAL_I64, ENTRY(revision)},
    {"last_good_agreed", JSONVAL_TEXT, ENTRY(hashkv_verified)},
    {0},
};

static void put_last_good(json_t *json, const struct catalog_entry *last, int64_t wall_now_s)
{
	(void) json_object_set_new(json, "last_good", jsonval_text(last != NULL ? last->id : NULL));
	if (last == NULL)
		return;
	(void) json_object_set_new(json, "last_good_age_s",
	                           json_integer(MAX(wall_now_s - last->started_s, 0)));
	jsonval_put(json, good_rows, last);
}

#define TARGET(member) offsetof(struct target_report, member)
static const struct jsonval_row target_rows[] = {
    {"target", JSONVAL_TEXT, TARGET(target)},
    {"state", JSONVAL_TEXT, TARGET(state)},
    {"pending", JSONVAL_U64, TARGET(n_pending)},
    {"sent_bytes", JSONVAL_U64, TARGET(sent.bytes)},
    {"sent_of_bytes", JSONVAL_U64, TARGET(sent.of_bytes)},
    {"sent_bytes_per_s", JSONVAL_U64, TARGET(sent.bytes_per_s)},
    {"last", JSONVAL_TEXT, TARGET(last_id)},
    {"last_at", JSONVAL_MOMENT, TARGET(last_s)},
    {0},
};

#define FOUND(member) offsetof(struct target_found, member)
static const struct jsonval_row found_rows[] = {
    {"snapshots", JSONVAL_U64, FOUND(n)},
    {"strays", JSONVAL_U64, FOUND(n_strays)},
    {"odd", JSONVAL_U64, FOUND(n_odd)},
    {0},
};
static const struct jsonval_row frozen_rows[] = {{"frozen", JSONVAL_CHARS, FOUND(frozen)}, {0}};

static const struct jsonval_row target_end_rows[] = {
    {"error", JSONVAL_TEXT, TARGET(error)},
    {"error_at", JSONVAL_MOMENT, TARGET(error_s)},
    {"stored", JSONVAL_U64, TARGET(counts.stored)},
    {"pruned", JSONVAL_U64, TARGET(counts.pruned)},
    {"failures", JSONVAL_U64, TARGET(counts.failures)},
    {0},
};

static json_t *target_json(const struct target_report *r, int64_t wall_now_s)
{
	json_t *json = json_object();

	jsonval_put(json, target_rows, r);
	(void) json_object_set_new(json, "last_age_s",
	                           r->last_s > 0 ? json_integer(MAX(wall_now_s - r->last_s, 0))
	                                         : json_null());
	if (r->found->is_known)
		jsonval_put(json, found_rows, r->found);
	for (const struct jsonval_row *row = found_rows; !r->found->is_known && row->key != NULL; row++)
		(void) json_object_set_new(json, row->key, json_null());
	jsonval_put(json, frozen_rows, r->found);
	jsonval_put(json, target_end_rows, r);
	return json;
}

#define JOB(member) offsetof(struct job_report, member)
static const struct jsonval_row period_rows[] = {
    {"period", JSONVAL_MOMENT, JOB(period_s)},
    {"period_done", JSONVAL_BOOL, JOB(period_done)},
    {"done_by", JSONVAL_TEXT, JOB(done_by)},
    {0},
};

static const struct jsonval_row job_rows[] = {
    {"snapshots", JSONVAL_U64, JOB(n_snapshots)},
    {"bytes", JSONVAL_U64, JOB(total_bytes)},
    {"set_aside", JSONVAL_U64, JOB(n_rejected)},
    {"waiting", JSONVAL_U64, JOB(n_waiting)},
    {"error", JSONVAL_TEXT, JOB(error)},
    {"error_at", JSONVAL_MOMENT, JOB(error_s)},
    {"frozen", JSONVAL_TEXT, JOB(frozen)},
    {"taken_bytes", JSONVAL_U64, JOB(bytes)},
    {"taken_of_bytes", JSONVAL_U64, JOB(of_bytes)},
    {"odd", JSONVAL_SIZE, JOB(n_odd)},
    {"odd_first", JSONVAL_TEXT, JOB(odd)},
    {"kept", JSONVAL_U64, JOB(counts.kept)},
    {"rejected", JSONVAL_U64, JOB(counts.rejected)},
    {"failures", JSONVAL_U64, JOB(counts.failures)},
    {"missed", JSONVAL_U64, JOB(counts.missed)},
    {"pruned", JSONVAL_U64, JOB(counts.pruned)},
    {"unsent", JSONVAL_U64, JOB(counts.unsent)},
    {"not_compared", JSONVAL_U64, JOB(counts.not_compared)},
    {0},
};

json_t *report_job_json(const struct job_report *r, int64_t wall_now_s)
{
	json_t *json = json_pack("{s:o, s:s, s:s, s:o, s:I}", "job", jsonval_text(r->job), "state",
	                         r->state, "taker", r->elected ? "elected" : "every-node", "next_due",
	                         jsonval_moment(r->next_due_s), "next_due_s",
	                         (json_int_t) (r->next_due_s - wall_now_s));
	json_t *targets = json_array();

	jsonval_put(json, period_rows, r);
	put_last_good(json, r->last_good, wall_now_s);
	jsonval_put(json, job_rows, r);
	for (size_t i = 0; i < r->n_targets; i++)
		(void) json_array_append_new(targets, target_json(&r->targets[i], wall_now_s));
	(void) json_object_set_new(json, "targets", targets);
	return json;
}

#define OTHER(member) offsetof(struct others_one, member)
static const struct jsonval_row other_rows[] = {
    {"node", JSONVAL_CHARS, OTHER(node)},
    {"newest", JSONVAL_CHARS, OTHER(id)},
    {"finished", JSONVAL_MOMENT, OTHER(finished_s)},
    {0},
};
static const struct jsonval_row other_end_rows[] = {
    {"revision", JSONVAL_KNOWN, OTHER(revision)},
    {"agreed", JSONVAL_CHARS, OTHER(agreed)},
    {0},
};

json_t *report_other_json(const char *job, const struct others_one *one, int64_t wall_now_s,
                          json_t *places)
{
	json_t *json = json_pack("{s:o}", "job", jsonval_text(job));

	jsonval_put(json, other_rows, one);
	(void) json_object_set_new(
	    json, "age_s",
	    one->finished_s > 0 ? json_integer(MAX(wall_now_s - one->finished_s, 0)) : json_null());
	jsonval_put(json, other_end_rows, one);
	(void) json_object_set_new(json, "compared",
	                           one->agreed_is_known ? json_boolean(one->agreed[0] != '\0')
	                                                : json_null());
	(void) json_object_set_new(json, "targets", places);
	return json;
}

json_t *report_snapshot_json(const struct catalog_entry *entry)
{
	AUTO(free) char *text = catalog_print(entry);

	return json_loads(text, 0, NULL);
}

/* --- metrics --- */

#define GOOD(name, member)                                               \
	static double name(const void *from)                                 \
	{                                                                    \
		const struct job_report *r = from;                               \
                                                                         \
		return r->last_good != NULL ? (double) r->last_good->member : 0; \
	}
GOOD(good_time, started_s)
GOOD(good_revision, revision)
GOOD(good_bytes, db_bytes)

/* Who compares nothing has nothing to tell. */
static double good_compared(const void *from)
{
	const struct job_report *r = from;

	if (!r->compares)
		return NAN;
	return r->last_good != NULL && r->last_good->hashkv_verified != NULL;
}

static double failing(const void *from)
{
	return ((const struct job_report *) from)->error[0] != '\0';
}

static double frozen(const void *from)
{
	return ((const struct job_report *) from)->frozen[0] != '\0';
}

static const struct metrics_row job_metrics[] = {
    {"fairlead_etcdwatch_last_good_timestamp_seconds{job}",
     "When the newest good snapshot on this node was begun; 0: there is none.", METRICS_CODE, 0,
     good_time},
    {"fairlead_etcdwatch_last_good_revision{job}", "The revision of that snapshot.", METRICS_CODE,
     0, good_revision},
    {"fairlead_etcdwatch_last_good_db_bytes{job}", "How large its database is.", METRICS_CODE, 0,
     good_bytes},
    {"fairlead_etcdwatch_last_good_compared{job}",
     "1 if another member has confirmed that snapshot's HashKV.", METRICS_CODE, 0, good_compared},
    {"fairlead_etcdwatch_snapshots{job}", "Snapshots on this node.", METRICS_U64, JOB(n_snapshots),
     NULL},
    {"fairlead_etcdwatch_snapshots_bytes{job}", "What they take on disk.", METRICS_U64,
     JOB(total_bytes), NULL},
    {"fairlead_etcdwatch_set_aside{job}", "Files that did not pass their proof, put aside.",
     METRICS_U64, JOB(n_rejected), NULL},
    {"fairlead_etcdwatch_waiting{job}",
     "Snapshots that retention keeps on this node only because a target has no copy of them yet.",
     METRICS_U64, JOB(n_waiting), NULL},
    {"fairlead_etcdwatch_failing{job}", "1 while the last thing that the job did went wrong.",
     METRICS_CODE, 0, failing},
    {"fairlead_etcdwatch_frozen{job}",
     "1 while nothing is removed, because something is suspicious.", METRICS_CODE, 0, frozen},
    {"fairlead_etcdwatch_period_done{job}",
     "1 when the period that is under way has its snapshot, as far as this node knows.",
     METRICS_BOOL, JOB(period_done), NULL},
    {"fairlead_etcdwatch_next_due_timestamp_seconds{job}", "When the next snapshot is due.",
     METRICS_I64, JOB(next_due_s), NULL},
    {"fairlead_etcdwatch_last_duration_seconds{job}",
     "How long the last snapshot of this node took, until it was proven and kept.", METRICS_US,
     JOB(last_took_us), NULL},
    {"fairlead_etcdwatch_odd_files{job}",
     "Files in the directory that do not fit the catalogue, and entries without a file.",
     METRICS_SIZE, JOB(n_odd), NULL},
    {"fairlead_etcdwatch_kept_total{job}", "Snapshots that were proven and kept.", METRICS_U64,
     JOB(counts.kept), NULL},
    {"fairlead_etcdwatch_rejected_total{job}", "Snapshots that did not pass their proof.",
     METRICS_U64, JOB(counts.rejected), NULL},
    {"fairlead_etcdwatch_failures_total{job}", "Attempts that ended without a snapshot.",
     METRICS_U64, JOB(counts.failures), NULL},
    {"fairlead_etcdwatch_missed_periods_total{job}",
     "Periods that ended without a snapshot that this node knows of.", METRICS_U64,
     JOB(counts.missed), NULL},
    {"fairlead_etcdwatch_pruned_total{job}", "Snapshots that retention has removed.", METRICS_U64,
     JOB(counts.pruned), NULL},
    {"fairlead_etcdwatch_unsent_total{job}",
     "Snapshots that retention has removed although a target had no copy of them.", METRICS_U64,
     JOB(counts.unsent), NULL},
    {"fairlead_etcdwatch_not_compared_total{job}",
     "Snapshots that were kept although no other member could be asked for its HashKV.",
     METRICS_U64, JOB(counts.not_compared), NULL},
    {0},
};

static double target_failing(const void *from)
{
	return ((const struct target_report *) from)->error[0] != '\0';
}

static double target_frozen(const void *from)
{
	return ((const struct target_report *) from)->found->frozen[0] != '\0';
}

static double target_strays(const void *from)
{
	const struct target_found *found = ((const struct target_report *) from)->found;

	return (double) (found->n_strays + found->n_odd);
}

static const struct metrics_row target_metrics[] = {
    {"fairlead_etcdwatch_target_last_success_timestamp_seconds{job,target}",
     "When this node has last stored a snapshot in the target; 0: not since it was started.",
     METRICS_I64, TARGET(last_s), NULL},
    {"fairlead_etcdwatch_target_pending{job,target}",
     "Good snapshots on this node that the target has no copy of.", METRICS_U64, TARGET(n_pending),
     NULL},
    {"fairlead_etcdwatch_target_failing{job,target}",
     "1 while the last thing that was tried there went wrong.", METRICS_CODE, 0, target_failing},
    {"fairlead_etcdwatch_target_frozen{job,target}",
     "1 while nothing is removed there, because something is suspicious.", METRICS_CODE, 0,
     target_frozen},
    {"fairlead_etcdwatch_target_foreign{job,target}",
     "1 while the prefix belongs to another cluster, so that nothing is done there.", METRICS_BOOL,
     TARGET(is_foreign), NULL},
    {"fairlead_etcdwatch_target_odd_objects{job,target}",
     "Snapshots without an entry, and entries without a whole snapshot.", METRICS_CODE, 0,
     target_strays},
    {"fairlead_etcdwatch_target_pruned_total{job,target}",
     "Snapshots that this node has removed there.", METRICS_U64, TARGET(counts.pruned), NULL},
    {"fairlead_etcdwatch_target_stored_total{job,target}",
     "Snapshots that this node has stored there.", METRICS_U64, TARGET(counts.stored), NULL},
    {"fairlead_etcdwatch_target_failures_total{job,target}",
     "What this node has tried there and not done.", METRICS_U64, TARGET(counts.failures), NULL},
    {0},
};

void report_metrics(struct metrics *m, const struct job_report *reports, size_t n)
{
	AUTO(free) struct metrics_subject *jobs = xcalloc(n + 1, sizeof(*jobs));
	AUTO(free)
	struct metrics_subject *targets = xcalloc(n * CONFIG_TARGETS_MAX + 1, sizeof(*targets));
	size_t n_targets = 0;

	metrics_family(m, "fairlead_etcdwatch_build_info{version}", METRICS_GAUGE,
	               "1; the version is a label.");
	metrics_sample(m, 1, &(struct metrics_label){"version", FAIRLEAD_VERSION}, 1);
	for (size_t i = 0; i < n; i++) {
		jobs[i] = (struct metrics_subject){.from = &reports[i], .is = {"job", reports[i].job}};
		for (size_t k = 0; k < reports[i].n_targets; k++) {
			const struct target_report *t = &reports[i].targets[k];

			targets[n_targets++] = (struct metrics_subject){
			    .from = t, .is = {"job", t->job}, .of = {"target", t->target}};
		}
	}
	metrics_table(m, job_metrics, jobs, n);
	metrics_table(m, target_metrics, targets, n_targets);
}
