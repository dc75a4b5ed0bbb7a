/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of what is told. */
#include "etcdwatch/drill/drillinfo.h"

#include <string.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mono.h"

static bool has_failed(const struct drillinfo *info)
{
	return info->known->last_s > 0 && !info->known->last_ok;
}

bool drillinfo_is_alarm(const struct drillinfo *info)
{
	return has_failed(info) || info->due.is_overdue;
}

/* --- JSON --- */

static json_t *age(int64_t then_s, int64_t now_s)
{
	return then_s > 0 ? json_integer(MAX(now_s - then_s, 0)) : json_null();
}

/* What the worker told of the last one, that is worth telling on: "checks", "phases", "versions".
 */
static void put_result(json_t *json, const json_t *result)
{
	static const char *const keys[] = {"checks", "phases", "versions"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		json_t *value = json_object_get(result, keys[i]);

		if (value != NULL)
			(void) json_object_set(json, keys[i], value);
	}
}

json_t *drillinfo_json(const struct drillinfo *info, int64_t wall_now_s)
{
	const struct drillstate *k = info->known;
	json_t *json =
	    json_pack("{s:s, s:o, s:b, s:b, s:b, s:o, s:o}", "state", info->state, "phase",
	              jsonval_filled(info->phase), "alarm", (int) drillinfo_is_alarm(info), "failed",
	              (int) has_failed(info), "overdue", (int) info->due.is_overdue, "next_due",
	              jsonval_moment(info->due.next_s), "next_due_s",
	              info->due.next_s > 0 ? json_integer(info->due.next_s - wall_now_s) : json_null());
	json_t *more = json_pack(
	    "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I}", "last", jsonval_moment(k->last_s),
	    "last_age_s", age(k->last_s, wall_now_s), "last_id", jsonval_filled(k->last_id),
	    "last_took_ms", k->last_s > 0 ? json_integer(k->last_took_ms) : json_null(), "reason",
	    jsonval_filled(k->reason), "last_good", jsonval_moment(k->good_s), "last_good_age_s",
	    age(k->good_s, wall_now_s), "last_good_id", jsonval_filled(k->good_id), "passed_count",
	    (json_int_t) info->n_passed, "failed_count", (json_int_t) info->n_failed);

	(void) json_object_update_new(json, more);
	put_result(json, k->result);
	return json;
}

/* --- metrics --- */

static double good_time(const struct drillinfo *info)
{
	return (double) info->known->good_s;
}

static double last_time(const struct drillinfo *info)
{
	return (double) info->known->last_s;
}

static double failed(const struct drillinfo *info)
{
	return has_failed(info);
}

static double overdue(const struct drillinfo *info)
{
	return info->due.is_overdue;
}

static double alarm_of(const struct drillinfo *info)
{
	return drillinfo_is_alarm(info);
}

static double took(const struct drillinfo *info)
{
	return (double) (info->known->last_took_ms * US_PER_MS) / (double) US_PER_S;
}

static double next_due(const struct drillinfo *info)
{
	return (double) info->due.next_s;
}

static double running(const struct drillinfo *info)
{
	return strcmp(info->state, "running") == 0;
}

static const struct {
	const char *name;
	const char *help;
	double (*value)(const struct drillinfo *info);
} gauges[] = {
    {"fairlead_etcdwatch_drill_last_success_timestamp_seconds{job}",
     "When the last drill began that went well; 0: none has.", good_time},
    {"fairlead_etcdwatch_drill_last_timestamp_seconds{job}",
     "When the last drill began; 0: there was none.", last_time},
    {"fairlead_etcdwatch_drill_failed{job}", "1 if the last drill failed.", failed},
    {"fairlead_etcdwatch_drill_overdue{job}",
     "1 while no drill has gone well that the schedule has asked for.", overdue},
    {"fairlead_etcdwatch_drill_alarm{job}", "1 if the last drill failed, or one is overdue.",
     alarm_of},
    {"fairlead_etcdwatch_drill_last_duration_seconds{job}", "How long the last drill took.", took},
    {"fairlead_etcdwatch_drill_next_due_timestamp_seconds{job}",
     "When the next drill is due; 0: there is no snapshot to drill.", next_due},
    {"fairlead_etcdwatch_drill_running{job}", "1 while a drill is under way.", running},
};

static void add_counter(struct metrics *m, const struct drillinfo *info, const char *result,
                        uint64_t n)
{
	const struct metrics_label labels[] = {{"job", info->job}, {"result", result}};

	metrics_sample(m, (double) n, labels, ARRAY_SIZE(labels));
}

static void add_phases(struct metrics *m, const struct drillinfo *info)
{
	json_t *phases = json_object_get(info->known->result, "phases");
	const char *name;
	json_t *ms;

	json_object_foreach(phases, name, ms)
	{
		const struct metrics_label labels[] = {{"job", info->job}, {"phase", name}};

		metrics_sample(m, json_number_value(ms) / 1000, labels, ARRAY_SIZE(labels));
	}
}

void drillinfo_metrics(struct metrics *m, const struct drillinfo *infos, size_t n)
{
	for (size_t g = 0; g < ARRAY_SIZE(gauges) && n > 0; g++) {
		metrics_family(m, gauges[g].name, METRICS_GAUGE, gauges[g].help);
		for (size_t i = 0; i < n; i++)
			metrics_sample(m, gauges[g].value(&infos[i]),
			               &(struct metrics_label){"job", infos[i].job}, 1);
	}
	if (n == 0)
		return;
	metrics_family(m, "fairlead_etcdwatch_drill_phase_seconds{job,phase}", METRICS_GAUGE,
	               "How long each phase of the last drill took.");
	for (size_t i = 0; i < n; i++)
		add_phases(m, &infos[i]);
	metrics_family(m, "fairlead_etcdwatch_drills_total{job,result}", METRICS_COUNTER,
	               "Drills since the daemon was started.");
	for (size_t i = 0; i < n; i++) {
		add_counter(m, &infos[i], "passed", infos[i].n_passed);
		add_counter(m, &infos[i], "failed", infos[i].n_failed);
	}
}
