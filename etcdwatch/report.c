/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of what is told, and the two ways of telling it. */
#include "etcdwatch/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/civil.h"
#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mono.h"

json_t *report_moment_json(int64_t s)
{
	char text[CIVIL_TEXT_MAX];

	return s > 0 ? json_string(civil_format(s, text)) : json_null();
}

static json_t *text_or_null(const char *text)
{
	return jsonval_text(text != NULL && text[0] != '\0' ? text : NULL);
}

static json_t *count_json(uint64_t count)
{
	return json_integer((json_int_t) count);
}

/* --- JSON --- */

static void put_last_good(json_t *json, const struct catalog_entry *last, int64_t wall_now_s)
{
	if (last == NULL) {
		(void) json_object_set_new(json, "last_good", json_null());
		return;
	}
	(void) json_object_set_new(json, "last_good", json_string(last->id));
	(void) json_object_set_new(json, "last_good_age_s",
	                           json_integer(MAX(wall_now_s - last->started_s, 0)));
	(void) json_object_set_new(json, "last_good_revision", json_integer(last->revision));
	(void) json_object_set_new(json, "last_good_agreed", jsonval_text(last->hashkv_verified));
}

static void put_counts(json_t *json, const struct job_counts *c)
{
	(void) json_object_set_new(json, "kept", count_json(c->kept));
	(void) json_object_set_new(json, "rejected", count_json(c->rejected));
	(void) json_object_set_new(json, "failures", count_json(c->failures));
	(void) json_object_set_new(json, "missed", count_json(c->missed));
	(void) json_object_set_new(json, "pruned", count_json(c->pruned));
	(void) json_object_set_new(json, "unsent", count_json(c->unsent));
	(void) json_object_set_new(json, "not_compared", count_json(c->not_compared));
}

static json_t *target_json(const struct target_report *r, int64_t wall_now_s)
{
	json_t *json = json_object();

	(void) json_object_set_new(json, "target", jsonval_text(r->target));
	(void) json_object_set_new(json, "state", json_string(r->state));
	(void) json_object_set_new(json, "pending", count_json(r->n_pending));
	(void) json_object_set_new(json, "sent_bytes", count_json(r->sent.bytes));
	(void) json_object_set_new(json, "sent_of_bytes", count_json(r->sent.of_bytes));
	(void) json_object_set_new(json, "sent_bytes_per_s", count_json(r->sent.bytes_per_s));
	(void) json_object_set_new(json, "last", text_or_null(r->last_id));
	(void) json_object_set_new(json, "last_at", report_moment_json(r->last_s));
	(void) json_object_set_new(json, "last_age_s",
	                           r->last_s > 0 ? json_integer(MAX(wall_now_s - r->last_s, 0))
	                                         : json_null());
	(void) json_object_set_new(json, "snapshots",
	                           r->found->is_known ? count_json(r->found->n) : json_null());
	(void) json_object_set_new(json, "strays",
	                           r->found->is_known ? count_json(r->found->n_strays) : json_null());
	(void) json_object_set_new(json, "odd",
	                           r->found->is_known ? count_json(r->found->n_odd) : json_null());
	(void) json_object_set_new(json, "frozen", text_or_null(r->found->frozen));
	(void) json_object_set_new(json, "error", text_or_null(r->error));
	(void) json_object_set_new(json, "error_at",
	                           r->error[0] != '\0' ? report_moment_json(r->error_s) : json_null());
	(void) json_object_set_new(json, "stored", count_json(r->counts.stored));
	(void) json_object_set_new(json, "pruned", count_json(r->counts.pruned));
	(void) json_object_set_new(json, "failures", count_json(r->counts.failures));
	return json;
}

static void put_targets(json_t *json, const struct job_report *r, int64_t wall_now_s)
{
	json_t *targets = json_array();

	for (size_t i = 0; i < r->n_targets; i++)
		(void) json_array_append_new(targets, target_json(&r->targets[i], wall_now_s));
	(void) json_object_set_new(json, "targets", targets);
}

json_t *report_job_json(const struct job_report *r, int64_t wall_now_s)
{
	json_t *json = json_object();

	(void) json_object_set_new(json, "job", jsonval_text(r->job));
	(void) json_object_set_new(json, "state", json_string(r->state));
	(void) json_object_set_new(json, "taker", json_string(r->elected ? "elected" : "every-node"));
	(void) json_object_set_new(json, "next_due", report_moment_json(r->next_due_s));
	(void) json_object_set_new(json, "next_due_s", json_integer(r->next_due_s - wall_now_s));
	(void) json_object_set_new(json, "period", report_moment_json(r->period_s));
	(void) json_object_set_new(json, "period_done", json_boolean(r->period_done));
	(void) json_object_set_new(json, "done_by", text_or_null(r->done_by));
	put_last_good(json, r->last_good, wall_now_s);
	(void) json_object_set_new(json, "snapshots", count_json(r->n_snapshots));
	(void) json_object_set_new(json, "bytes", count_json(r->total_bytes));
	(void) json_object_set_new(json, "set_aside", count_json(r->n_rejected));
	(void) json_object_set_new(json, "waiting", count_json(r->n_waiting));
	(void) json_object_set_new(json, "error", text_or_null(r->error));
	(void) json_object_set_new(json, "error_at",
	                           r->error[0] != '\0' ? report_moment_json(r->error_s) : json_null());
	(void) json_object_set_new(json, "frozen", text_or_null(r->frozen));
	(void) json_object_set_new(json, "taken_bytes", count_json(r->bytes));
	(void) json_object_set_new(json, "taken_of_bytes", count_json(r->of_bytes));
	(void) json_object_set_new(json, "odd", count_json(r->n_odd));
	(void) json_object_set_new(json, "odd_first", jsonval_text(r->odd));
	put_counts(json, &r->counts);
	put_targets(json, r, wall_now_s);
	return json;
}

json_t *report_other_json(const char *job, const struct others_one *one, int64_t wall_now_s,
                          json_t *places)
{
	json_t *json =
	    json_pack("{s:o, s:o, s:o, s:o}", "job", jsonval_text(job), "node", jsonval_text(one->node),
	              "newest", jsonval_text(one->id), "finished", report_moment_json(one->finished_s));

	(void) json_object_set_new(
	    json, "age_s",
	    one->finished_s > 0 ? json_integer(MAX(wall_now_s - one->finished_s, 0)) : json_null());
	(void) json_object_set_new(json, "revision",
	                           one->revision > 0 ? json_integer(one->revision) : json_null());
	(void) json_object_set_new(json, "agreed", text_or_null(one->agreed));
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

static double good_time(const struct job_report *r)
{
	return r->last_good != NULL ? (double) r->last_good->started_s : 0;
}

static double good_revision(const struct job_report *r)
{
	return r->last_good != NULL ? (double) r->last_good->revision : 0;
}

static double good_bytes(const struct job_report *r)
{
	return r->last_good != NULL ? (double) r->last_good->db_bytes : 0;
}

/* Who compares nothing has nothing to tell. */
static double good_compared(const struct job_report *r)
{
	if (!r->compares)
		return NAN;
	return r->last_good != NULL && r->last_good->hashkv_verified != NULL;
}

static double snapshots(const struct job_report *r)
{
	return (double) r->n_snapshots;
}

static double total_bytes(const struct job_report *r)
{
	return (double) r->total_bytes;
}

static double set_aside(const struct job_report *r)
{
	return (double) r->n_rejected;
}

static double waiting(const struct job_report *r)
{
	return (double) r->n_waiting;
}

static double failing(const struct job_report *r)
{
	return r->error[0] != '\0';
}

static double frozen(const struct job_report *r)
{
	return r->frozen[0] != '\0';
}

static double period_done(const struct job_report *r)
{
	return r->period_done;
}

static double next_due(const struct job_report *r)
{
	return (double) r->next_due_s;
}

static double took(const struct job_report *r)
{
	return (double) r->last_took_us / (double) US_PER_S;
}

static double odd(const struct job_report *r)
{
	return (double) r->n_odd;
}

static const struct {
	const char *name;
	const char *help;
	double (*value)(const struct job_report *r); /* NAN: none */
} gauges[] = {
    {"fairlead_etcdwatch_last_good_timestamp_seconds{job}",
     "When the newest good snapshot on this node was begun; 0: there is none.", good_time},
    {"fairlead_etcdwatch_last_good_revision{job}", "The revision of that snapshot.", good_revision},
    {"fairlead_etcdwatch_last_good_db_bytes{job}", "How large its database is.", good_bytes},
    {"fairlead_etcdwatch_last_good_compared{job}",
     "1 if another member has confirmed that snapshot's HashKV.", good_compared},
    {"fairlead_etcdwatch_snapshots{job}", "Snapshots on this node.", snapshots},
    {"fairlead_etcdwatch_snapshots_bytes{job}", "What they take on disk.", total_bytes},
    {"fairlead_etcdwatch_set_aside{job}", "Files that did not pass their proof, put aside.",
     set_aside},
    {"fairlead_etcdwatch_waiting{job}",
     "Snapshots that retention keeps on this node only because a target has no copy of them yet.",
     waiting},
    {"fairlead_etcdwatch_failing{job}", "1 while the last thing that the job did went wrong.",
     failing},
    {"fairlead_etcdwatch_frozen{job}",
     "1 while nothing is removed, because something is suspicious.", frozen},
    {"fairlead_etcdwatch_period_done{job}",
     "1 when the period that is under way has its snapshot, as far as this node knows.",
     period_done},
    {"fairlead_etcdwatch_next_due_timestamp_seconds{job}", "When the next snapshot is due.",
     next_due},
    {"fairlead_etcdwatch_last_duration_seconds{job}",
     "How long the last snapshot of this node took, until it was proven and kept.", took},
    {"fairlead_etcdwatch_odd_files{job}",
     "Files in the directory that do not fit the catalogue, and entries without a file.", odd},
};

static double target_last(const struct target_report *r)
{
	return (double) r->last_s;
}

static double target_pending(const struct target_report *r)
{
	return (double) r->n_pending;
}

static double target_failing(const struct target_report *r)
{
	return r->error[0] != '\0';
}

static double target_frozen(const struct target_report *r)
{
	return r->found->frozen[0] != '\0';
}

static double target_foreign(const struct target_report *r)
{
	return r->is_foreign;
}

static double target_strays(const struct target_report *r)
{
	return (double) (r->found->n_strays + r->found->n_odd);
}

static double target_pruned(const struct target_report *r)
{
	return (double) r->counts.pruned;
}

static double target_stored(const struct target_report *r)
{
	return (double) r->counts.stored;
}

static double target_failures(const struct target_report *r)
{
	return (double) r->counts.failures;
}

static const struct {
	const char *name;
	const char *help;
	enum metrics_type type;
	double (*value)(const struct target_report *r);
} target_metrics[] = {
    {"fairlead_etcdwatch_target_last_success_timestamp_seconds{job,target}",
     "When this node has last stored a snapshot in the target; 0: not since it was started.",
     METRICS_GAUGE, target_last},
    {"fairlead_etcdwatch_target_pending{job,target}",
     "Good snapshots on this node that the target has no copy of.", METRICS_GAUGE, target_pending},
    {"fairlead_etcdwatch_target_failing{job,target}",
     "1 while the last thing that was tried there went wrong.", METRICS_GAUGE, target_failing},
    {"fairlead_etcdwatch_target_frozen{job,target}",
     "1 while nothing is removed there, because something is suspicious.", METRICS_GAUGE,
     target_frozen},
    {"fairlead_etcdwatch_target_foreign{job,target}",
     "1 while the prefix belongs to another cluster, so that nothing is done there.", METRICS_GAUGE,
     target_foreign},
    {"fairlead_etcdwatch_target_odd_objects{job,target}",
     "Snapshots without an entry, and entries without a whole snapshot.", METRICS_GAUGE,
     target_strays},
    {"fairlead_etcdwatch_target_pruned_total{job,target}",
     "Snapshots that this node has removed there.", METRICS_COUNTER, target_pruned},
    {"fairlead_etcdwatch_target_stored_total{job,target}",
     "Snapshots that this node has stored there.", METRICS_COUNTER, target_stored},
    {"fairlead_etcdwatch_target_failures_total{job,target}",
     "What this node has tried there and not done.", METRICS_COUNTER, target_failures},
};

static void target_family(struct metrics *m, size_t family, const struct job_report *reports,
                          size_t n)
{
	metrics_family(m, target_metrics[family].name, target_metrics[family].type,
	               target_metrics[family].help);
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < reports[i].n_targets; k++) {
			const struct target_report *t = &reports[i].targets[k];
			const struct metrics_label labels[] = {{"job", t->job}, {"target", t->target}};

			metrics_sample(m, target_metrics[family].value(t), labels, ARRAY_SIZE(labels));
		}
	}
}

static const struct {
	const char *name;
	const char *help;
	size_t offset; /* of a uint64_t in struct job_counts */
} counters[] = {
    {"fairlead_etcdwatch_kept_total{job}", "Snapshots that were proven and kept.",
     offsetof(struct job_counts, kept)},
    {"fairlead_etcdwatch_rejected_total{job}", "Snapshots that did not pass their proof.",
     offsetof(struct job_counts, rejected)},
    {"fairlead_etcdwatch_failures_total{job}", "Attempts that ended without a snapshot.",
     offsetof(struct job_counts, failures)},
    {"fairlead_etcdwatch_missed_periods_total{job}",
     "Periods that ended without a snapshot that this node knows of.",
     offsetof(struct job_counts, missed)},
    {"fairlead_etcdwatch_pruned_total{job}", "Snapshots that retention has removed.",
     offsetof(struct job_counts, pruned)},
    {"fairlead_etcdwatch_unsent_total{job}",
     "Snapshots that retention has removed although a target had no copy of them.",
     offsetof(struct job_counts, unsent)},
    {"fairlead_etcdwatch_not_compared_total{job}",
     "Snapshots that were kept although no other member could be asked for its HashKV.",
     offsetof(struct job_counts, not_compared)},
};

void report_metrics(struct metrics *m, const struct job_report *reports, size_t n)
{
	metrics_family(m, "fairlead_etcdwatch_build_info{version}", METRICS_GAUGE,
	               "1; the version is a label.");
	metrics_sample(m, 1, &(struct metrics_label){"version", FAIRLEAD_VERSION}, 1);
	for (size_t g = 0; g < ARRAY_SIZE(gauges); g++) {
		metrics_family(m, gauges[g].name, METRICS_GAUGE, gauges[g].help);
		for (size_t i = 0; i < n; i++) {
			double value = gauges[g].value(&reports[i]);

			if (!isnan(value))
				metrics_sample(m, value, &(struct metrics_label){"job", reports[i].job}, 1);
		}
	}
	for (size_t c = 0; c < ARRAY_SIZE(counters); c++) {
		metrics_family(m, counters[c].name, METRICS_COUNTER, counters[c].help);
		for (size_t i = 0; i < n; i++) {
			const char *counts = (const char *) &reports[i].counts;

			metrics_sample(
			    m, (double) *(const uint64_t *) (const void *) (counts + counters[c].offset),
			    &(struct metrics_label){"job", reports[i].job}, 1);
		}
	}
	for (size_t f = 0; f < ARRAY_SIZE(target_metrics); f++)
		target_family(m, f, reports, n);
}
