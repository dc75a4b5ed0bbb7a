/* SPDX-License-Identifier: Apache-2.0 */
/* Answered at once, from what the recorder says of itself. */
#include "etcdwatch/recordcommand.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/civil.h"
#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mono.h"

static json_t *moment_json(int64_t us)
{
	char text[CIVIL_TEXT_MAX];

	return us > 0 ? json_string(civil_format(us / US_PER_S, text)) : json_null();
}

static json_t *text_or_null(const char *text)
{
	return text[0] != '\0' ? jsonval_text(text) : json_null();
}

static json_t *revision_json(int64_t revision)
{
	return revision > 0 ? json_integer(revision) : json_null();
}

static json_t *gap_json(const struct recorder_gap *gap)
{
	json_t *json = json_object();

	if (gap->wall_us == 0) {
		json_decref(json);
		return json_null();
	}
	(void) json_object_set_new(json, "first_revision", json_integer(gap->first));
	(void) json_object_set_new(json, "last_revision", revision_json(gap->last));
	(void) json_object_set_new(json, "at", moment_json(gap->wall_us));
	(void) json_object_set_new(json, "reason", jsonval_text(gap->reason));
	return json;
}

static void put_figures(json_t *json, const struct recordwriter_figures *f)
{
	int64_t age_us = wall_now_us() - f->reached_us;

	(void) json_object_set_new(json, "first_revision", revision_json(f->first_revision));
	(void) json_object_set_new(json, "since", moment_json(f->first_us));
	(void) json_object_set_new(json, "last_revision", revision_json(f->last_revision));
	(void) json_object_set_new(json, "recoverable_until", moment_json(f->reached_us));
	(void) json_object_set_new(json, "recoverable_age_ms",
	                           f->reached_us > 0 ? json_integer(MAX(age_us / US_PER_MS, INT64_C(0)))
	                                             : json_null());
	(void) json_object_set_new(json, "segments", json_integer((json_int_t) f->n_segments));
	(void) json_object_set_new(json, "chains", json_integer((json_int_t) f->n_chains));
	(void) json_object_set_new(json, "bytes", json_integer((json_int_t) f->bytes));
	(void) json_object_set_new(json, "more_than_max_size", json_boolean(f->is_too_much));
	(void) json_object_set_new(json, "removed_unsent", json_integer((json_int_t) f->n_unsent));
	(void) json_object_set_new(json, "sync_ms",
	                           json_real((double) f->sync_us / (double) US_PER_MS));
}

static json_t *target_json(const struct recordstore_report *r)
{
	int64_t age_us = wall_now_us() - r->until_us;
	json_t *json = json_object();

	(void) json_object_set_new(json, "job", jsonval_text(r->job));
	(void) json_object_set_new(json, "target", jsonval_text(r->target));
	(void) json_object_set_new(json, "state", json_string(r->state));
	(void) json_object_set_new(json, "last_revision", revision_json(r->revision));
	(void) json_object_set_new(json, "recoverable_until", moment_json(r->until_us));
	(void) json_object_set_new(json, "recoverable_age_ms",
	                           r->until_us > 0 ? json_integer(MAX(age_us / US_PER_MS, INT64_C(0)))
	                                           : json_null());
	(void) json_object_set_new(json, "is_late",
	                           json_boolean(r->until_us > 0 && age_us > r->limit_us));
	(void) json_object_set_new(json, "uploaded_bytes", json_integer((json_int_t) r->bytes));
	(void) json_object_set_new(json, "uploaded_objects", json_integer((json_int_t) r->objects));
	(void) json_object_set_new(json, "removed_objects", json_integer((json_int_t) r->removed));
	(void) json_object_set_new(json, "error", text_or_null(r->error));
	(void) json_object_set_new(
	    json, "error_at", r->error[0] != '\0' ? moment_json(r->error_s * US_PER_S) : json_null());
	(void) json_object_set_new(json, "not_uploaded", text_or_null(r->passed));
	return json;
}

static json_t *targets_json(const struct daemon *daemon)
{
	json_t *list = json_array();

	for (size_t i = 0; i < daemon_n_recordstores(daemon); i++) {
		struct recordstore_report report;

		recordstore_fill_report(daemon_recordstore(daemon, i), &report);
		(void) json_array_append_new(list, target_json(&report));
	}
	return list;
}

static json_t *status_json(const struct recorder_report *r)
{
	char cluster_id[17];
	json_t *json = json_object();

	(void) snprintf(cluster_id, sizeof(cluster_id), "%016" PRIx64, r->cluster_id);
	(void) json_object_set_new(json, "state", json_string(r->state));
	(void) json_object_set_new(json, "directory", jsonval_text(r->directory));
	(void) json_object_set_new(json, "error", text_or_null(r->error));
	(void) json_object_set_new(json, "cluster_id", json_string(cluster_id));
	(void) json_object_set_new(json, "member", text_or_null(r->member));
	put_figures(json, &r->figures);
	(void) json_object_set_new(json, "gaps", json_integer((json_int_t) r->n_gaps));
	(void) json_object_set_new(json, "last_gap", gap_json(&r->gap));
	(void) json_object_set_new(json, "leases", json_integer((json_int_t) r->n_leases));
	(void) json_object_set_new(json, "hashes", json_integer((json_int_t) r->n_hashes));
	(void) json_object_set_new(json, "hash_revision", revision_json(r->hash_revision));
	return json;
}

void recordcommand_run(struct control_request *request, int argc, const struct daemon *daemon)
{
	struct recorder_report report;
	json_t *status;

	if (argc != 0) {
		control_fail(request, CONTROL_USAGE, "etcd record status");
		return;
	}
	if (daemon_recorder(daemon) == NULL) {
		control_fail(request, CONTROL_NOTFOUND,
		             "nothing is recorded: EtcdWatchConfig has no section 'record'");
		return;
	}
	recorder_fill_report(daemon_recorder(daemon), &report);
	status = status_json(&report);
	(void) json_object_set_new(status, "targets", targets_json(daemon));
	control_reply(request, status);
	control_ok(request);
}

/* --- metrics --- */

static double recoverable_until(const struct recorder_report *r)
{
	return (double) r->figures.reached_us / (double) US_PER_S;
}

static double last_revision(const struct recorder_report *r)
{
	return (double) r->figures.last_revision;
}

static double bytes(const struct recorder_report *r)
{
	return (double) r->figures.bytes;
}

static double segments(const struct recorder_report *r)
{
	return (double) r->figures.n_segments;
}

static double chains(const struct recorder_report *r)
{
	return (double) r->figures.n_chains;
}

static double too_much(const struct recorder_report *r)
{
	return r->figures.is_too_much;
}

static double failing(const struct recorder_report *r)
{
	return r->error[0] != '\0';
}

static double sync_seconds(const struct recorder_report *r)
{
	return (double) r->figures.sync_us / (double) US_PER_S;
}

static double syncs(const struct recorder_report *r)
{
	return (double) r->figures.n_syncs;
}

static double gaps(const struct recorder_report *r)
{
	return (double) r->n_gaps;
}

static double removed_unsent(const struct recorder_report *r)
{
	return (double) r->figures.n_unsent;
}

static const struct {
	const char *name;
	const char *help;
	enum metrics_type type;
	double (*value)(const struct recorder_report *r);
} families[] = {
    {"fairlead_etcdwatch_record_recoverable_until_seconds",
     "Until when, in seconds since the epoch, all changes are in the record and on the disk.",
     METRICS_GAUGE, recoverable_until},
    {"fairlead_etcdwatch_record_last_revision", "The last revision that is there for certain.",
     METRICS_GAUGE, last_revision},
    {"fairlead_etcdwatch_record_bytes", "What the record takes on the disk.", METRICS_GAUGE, bytes},
    {"fairlead_etcdwatch_record_segments", "Its files.", METRICS_GAUGE, segments},
    {"fairlead_etcdwatch_record_chains",
     "Unbroken parts of it; more than one: something between them is lost.", METRICS_GAUGE, chains},
    {"fairlead_etcdwatch_record_over_max_size",
     "1 while more than maxSize is kept, because the newest snapshot needs it.", METRICS_GAUGE,
     too_much},
    {"fairlead_etcdwatch_record_failing", "1 while nothing is recorded.", METRICS_GAUGE, failing},
    {"fairlead_etcdwatch_record_fsync_seconds", "How long the last sync took.", METRICS_GAUGE,
     sync_seconds},
    {"fairlead_etcdwatch_record_fsyncs_total", "Syncs.", METRICS_COUNTER, syncs},
    {"fairlead_etcdwatch_record_gaps_total",
     "How often something was lost since etcdwatch was started.", METRICS_COUNTER, gaps},
    {"fairlead_etcdwatch_record_removed_unsent_total",
     "Segments that were removed for maxSize before each target had them.", METRICS_COUNTER,
     removed_unsent},
};

/* --- of its targets --- */

static double target_until(const struct recordstore_report *r)
{
	return (double) r->until_us / (double) US_PER_S;
}

static double target_lag(const struct recordstore_report *r)
{
	return (double) MAX(wall_now_us() - r->until_us, INT64_C(0)) / (double) US_PER_S;
}

static double target_revision(const struct recordstore_report *r)
{
	return (double) r->revision;
}

static double target_bytes(const struct recordstore_report *r)
{
	return (double) r->bytes;
}

static double target_objects(const struct recordstore_report *r)
{
	return (double) r->objects;
}

static double target_failing(const struct recordstore_report *r)
{
	return r->error[0] != '\0';
}

static double target_failures(const struct recordstore_report *r)
{
	return (double) r->failures;
}

static const struct {
	const char *name;
	const char *help;
	enum metrics_type type;
	double (*value)(const struct recordstore_report *r);
	bool needs_reach; /* there is no sample before the first upload */
} target_families[] = {
    {"fairlead_etcdwatch_record_target_recoverable_until_seconds{job,target}",
     "Until when, in seconds since the epoch, the target has all changes.", METRICS_GAUGE,
     target_until, true},
    {"fairlead_etcdwatch_record_target_lag_seconds{job,target}",
     "How long ago that is: what would be lost with all nodes.", METRICS_GAUGE, target_lag, true},
    {"fairlead_etcdwatch_record_target_last_revision{job,target}",
     "The last revision that the target has.", METRICS_GAUGE, target_revision, true},
    {"fairlead_etcdwatch_record_target_uploaded_bytes_total{job,target}",
     "Bytes of the record that were uploaded, compressed and encrypted.", METRICS_COUNTER,
     target_bytes, false},
    {"fairlead_etcdwatch_record_target_uploaded_objects_total{job,target}",
     "Pieces of the record that were uploaded.", METRICS_COUNTER, target_objects, false},
    {"fairlead_etcdwatch_record_target_failing{job,target}",
     "1 while the last upload of the record has failed.", METRICS_GAUGE, target_failing, false},
    {"fairlead_etcdwatch_record_target_failures_total{job,target}",
     "Uploads of the record that failed.", METRICS_COUNTER, target_failures, false},
};

static void put_target_metrics(struct metrics *m, const struct daemon *daemon)
{
	for (size_t i = 0; i < ARRAY_SIZE(target_families); i++) {
		metrics_family(m, target_families[i].name, target_families[i].type,
		               target_families[i].help);
		for (size_t k = 0; k < daemon_n_recordstores(daemon); k++) {
			struct recordstore_report r;

			recordstore_fill_report(daemon_recordstore(daemon, k), &r);
			if (r.until_us > 0 || !target_families[i].needs_reach)
				metrics_sample(m, target_families[i].value(&r),
				               (struct metrics_label[]){{"job", r.job}, {"target", r.target}}, 2);
		}
	}
}

void recordcommand_metrics(struct metrics *m, const struct daemon *daemon)
{
	struct recorder_report report;

	if (daemon_recorder(daemon) == NULL)
		return;
	recorder_fill_report(daemon_recorder(daemon), &report);
	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		metrics_family(m, families[i].name, families[i].type, families[i].help);
		metrics_sample(m, families[i].value(&report), NULL, 0);
	}
	put_target_metrics(m, daemon);
}
