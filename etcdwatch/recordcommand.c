/* SPDX-License-Identifier: Apache-2.0 */
/* Answered at once, from what the recorder says of itself. */
#include "etcdwatch/recordcommand.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mono.h"

#define GAP(member) offsetof(struct recorder_gap, member)
static const struct jsonval_row gap_rows[] = {
    {"first_revision", JSONVAL_I64, GAP(first)},
    {"last_revision", JSONVAL_KNOWN, GAP(last)},
    {"at", JSONVAL_MOMENT_US, GAP(wall_us)},
    {"reason", JSONVAL_CHARS, GAP(reason)},
    {0},
};

static json_t *gap_json(const struct recorder_gap *gap)
{
	json_t *json;

	if (gap->wall_us == 0)
		return json_null();
	json = json_object();
	jsonval_put(json, gap_rows, gap);
	return json;
}

static json_t *age_json(int64_t reached_us)
{
	return reached_us > 0 ? json_integer(MAX((wall_now_us() - reached_us) / US_PER_MS, INT64_C(0)))
	                      : json_null();
}

#define TARGET(member) offsetof(struct recordstore_report, member)
static const struct jsonval_row target_rows[] = {
    {"job", JSONVAL_TEXT, TARGET(job)},
    {"target", JSONVAL_TEXT, TARGET(target)},
    {"state", JSONVAL_TEXT, TARGET(state)},
    {"last_revision", JSONVAL_KNOWN, TARGET(revision)},
    {"recoverable_until", JSONVAL_MOMENT_US, TARGET(until_us)},
    {0},
};
static const struct jsonval_row target_end_rows[] = {
    {"uploaded_bytes", JSONVAL_U64, TARGET(bytes)},
    {"uploaded_objects", JSONVAL_U64, TARGET(objects)},
    {"removed_objects", JSONVAL_U64, TARGET(removed)},
    {"error", JSONVAL_TEXT, TARGET(error)},
    {"error_at", JSONVAL_MOMENT, TARGET(error_s)},
    {"not_uploaded", JSONVAL_TEXT, TARGET(passed)},
    {0},
};

static json_t *target_json(const struct recordstore_report *r)
{
	json_t *json = json_object();

	jsonval_put(json, target_rows, r);
	(void) json_object_set_new(json, "recoverable_age_ms", age_json(r->until_us));
	(void) json_object_set_new(
	    json, "is_late",
	    json_boolean(r->until_us > 0 && wall_now_us() - r->until_us > r->limit_us));
	jsonval_put(json, target_end_rows, r);
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

#define RECORDER(member) offsetof(struct recorder_report, member)
static const struct jsonval_row status_rows[] = {
    {"state", JSONVAL_TEXT, RECORDER(state)},
    {"directory", JSONVAL_TEXT, RECORDER(directory)},
    {"error", JSONVAL_TEXT, RECORDER(error)},
    {0},
};
static const struct jsonval_row reach_rows[] = {
    {"member", JSONVAL_TEXT, RECORDER(member)},
    {"first_revision", JSONVAL_KNOWN, RECORDER(figures.first_revision)},
    {"since", JSONVAL_MOMENT_US, RECORDER(figures.first_us)},
    {"last_revision", JSONVAL_KNOWN, RECORDER(figures.last_revision)},
    {"recoverable_until", JSONVAL_MOMENT_US, RECORDER(figures.reached_us)},
    {0},
};
static const struct jsonval_row size_rows[] = {
    {"segments", JSONVAL_SIZE, RECORDER(figures.n_segments)},
    {"chains", JSONVAL_SIZE, RECORDER(figures.n_chains)},
    {"bytes", JSONVAL_U64, RECORDER(figures.bytes)},
    {"more_than_max_size", JSONVAL_BOOL, RECORDER(figures.is_too_much)},
    {"removed_unsent", JSONVAL_U64, RECORDER(figures.n_unsent)},
    {0},
};
static const struct jsonval_row hash_rows[] = {
    {"leases", JSONVAL_SIZE, RECORDER(n_leases)},
    {"hashes", JSONVAL_U64, RECORDER(n_hashes)},
    {"hash_revision", JSONVAL_KNOWN, RECORDER(hash_revision)},
    {0},
};

static json_t *status_json(const struct recorder_report *r)
{
	char cluster_id[17];
	json_t *json = json_object();

	(void) snprintf(cluster_id, sizeof(cluster_id), "%016" PRIx64, r->cluster_id);
	jsonval_put(json, status_rows, r);
	(void) json_object_set_new(json, "cluster_id", json_string(cluster_id));
	jsonval_put(json, reach_rows, r);
	(void) json_object_set_new(json, "recoverable_age_ms", age_json(r->figures.reached_us));
	jsonval_put(json, size_rows, r);
	(void) json_object_set_new(json, "sync_ms",
	                           json_real((double) r->figures.sync_us / (double) US_PER_MS));
	(void) json_object_set_new(json, "gaps", json_integer((json_int_t) r->n_gaps));
	(void) json_object_set_new(json, "last_gap", gap_json(&r->gap));
	jsonval_put(json, hash_rows, r);
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

static double failing(const void *from)
{
	return ((const struct recorder_report *) from)->error[0] != '\0';
}

static const struct metrics_row families[] = {
    {"fairlead_etcdwatch_record_recoverable_until_seconds",
     "Until when, in seconds since the epoch, all changes are in the record and on the disk.",
     METRICS_US, RECORDER(figures.reached_us), NULL},
    {"fairlead_etcdwatch_record_last_revision", "The last revision that is there for certain.",
     METRICS_I64, RECORDER(figures.last_revision), NULL},
    {"fairlead_etcdwatch_record_bytes", "What the record takes on the disk.", METRICS_U64,
     RECORDER(figures.bytes), NULL},
    {"fairlead_etcdwatch_record_segments", "Its files.", METRICS_SIZE, RECORDER(figures.n_segments),
     NULL},
    {"fairlead_etcdwatch_record_chains",
     "Unbroken parts of it; more than one: something between them is lost.", METRICS_SIZE,
     RECORDER(figures.n_chains), NULL},
    {"fairlead_etcdwatch_record_over_max_size",
     "1 while more than maxSize is kept, because the newest snapshot needs it.", METRICS_BOOL,
     RECORDER(figures.is_too_much), NULL},
    {"fairlead_etcdwatch_record_failing", "1 while nothing is recorded.", METRICS_CODE, 0, failing},
    {"fairlead_etcdwatch_record_fsync_seconds", "How long the last sync took.", METRICS_US,
     RECORDER(figures.sync_us), NULL},
    {"fairlead_etcdwatch_record_fsyncs_total", "Syncs.", METRICS_U64, RECORDER(figures.n_syncs),
     NULL},
    {"fairlead_etcdwatch_record_gaps_total",
     "How often something was lost since etcdwatch was started.", METRICS_U64, RECORDER(n_gaps),
     NULL},
    {"fairlead_etcdwatch_record_removed_unsent_total",
     "Segments that were removed for maxSize before each target had them.", METRICS_U64,
     RECORDER(figures.n_unsent), NULL},
    {0},
};

/* There is no sample before the first upload. */
static double if_reached(const struct recordstore_report *r, double value)
{
	return r->until_us > 0 ? value : (double) NAN;
}

static double target_until(const void *from)
{
	const struct recordstore_report *r = from;

	return if_reached(r, (double) r->until_us / (double) US_PER_S);
}

static double target_lag(const void *from)
{
	const struct recordstore_report *r = from;

	return if_reached(r, (double) MAX(wall_now_us() - r->until_us, INT64_C(0)) / (double) US_PER_S);
}

static double target_revision(const void *from)
{
	const struct recordstore_report *r = from;

	return if_reached(r, (double) r->revision);
}

static double target_failing(const void *from)
{
	return ((const struct recordstore_report *) from)->error[0] != '\0';
}

static const struct metrics_row target_families[] = {
    {"fairlead_etcdwatch_record_target_recoverable_until_seconds{job,target}",
     "Until when, in seconds since the epoch, the target has all changes.", METRICS_CODE, 0,
     target_until},
    {"fairlead_etcdwatch_record_target_lag_seconds{job,target}",
     "How long ago that is: what would be lost with all nodes.", METRICS_CODE, 0, target_lag},
    {"fairlead_etcdwatch_record_target_last_revision{job,target}",
     "The last revision that the target has.", METRICS_CODE, 0, target_revision},
    {"fairlead_etcdwatch_record_target_uploaded_bytes_total{job,target}",
     "Bytes of the record that were uploaded, compressed and encrypted.", METRICS_U64,
     TARGET(bytes), NULL},
    {"fairlead_etcdwatch_record_target_uploaded_objects_total{job,target}",
     "Pieces of the record that were uploaded.", METRICS_U64, TARGET(objects), NULL},
    {"fairlead_etcdwatch_record_target_failing{job,target}",
     "1 while the last upload of the record has failed.", METRICS_CODE, 0, target_failing},
    {"fairlead_etcdwatch_record_target_failures_total{job,target}",
     "Uploads of the record that failed.", METRICS_U64, TARGET(failures), NULL},
    {0},
};

void recordcommand_metrics(struct metrics *m, const struct daemon *daemon)
{
	struct recordstore_report targets[CONFIG_RECORD_TARGETS_MAX];
	struct metrics_subject subjects[CONFIG_RECORD_TARGETS_MAX];
	struct recorder_report report;
	size_t n = daemon_n_recordstores(daemon);

	if (daemon_recorder(daemon) == NULL)
		return;
	recorder_fill_report(daemon_recorder(daemon), &report);
	metrics_table(m, families, &(struct metrics_subject){.from = &report}, 1);
	for (size_t i = 0; i < n; i++) {
		recordstore_fill_report(daemon_recordstore(daemon, i), &targets[i]);
		subjects[i] = (struct metrics_subject){.from = &targets[i],
		                                       .is = {"job", targets[i].job},
		                                       .of = {"target", targets[i].target}};
	}
	metrics_table(m, target_families, subjects, n);
}
