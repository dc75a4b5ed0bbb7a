/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks: findings are kept by the monotonic one, and told by the wall's as it is now. */
#include "etcdwatch/health/healthreport.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mono.h"

#define S_PER_HOUR 3600.0
/* A hundred years: whatever grows so slowly. */
#define RUNWAY_MAX_S (100 * 365 * 86400.0)

static size_t count(const struct healthreport *r, enum rules_severity severity)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_findings; i++)
		n += r->findings[i]->rule->severity == severity ? 1 : 0;
	return n;
}

static size_t count_answers(const struct observation *o)
{
	size_t n = 0;

	for (size_t i = 0; i < o->n_members; i++)
		n += o->members[i].answer == OBSERVED_GOOD ? 1 : 0;
	return n;
}

static const char *status(const struct healthreport *r)
{
	if (r->o == NULL)
		return "unknown";
	if (count(r, RULES_CRITICAL) > 0)
		return "critical";
	/* One who does not answer becomes a finding only when that lasts. */
	return r->n_findings > 0 || count_answers(r->o) < r->o->n_members ? "warning" : "ok";
}

static json_t *silent_json(const struct observation *o)
{
	json_t *silent = json_array();
	char name[VIEW_NAME_MAX];

	for (size_t i = 0; i < o->n_members; i++) {
		const struct observation_member *m = &o->members[i];

		if (m->answer == OBSERVED_BAD)
			(void) json_array_append_new(
			    silent, json_pack("{s:o, s:b, s:o}", "member", jsonval_text(rules_name(m, name)),
			                      "denied", (int) m->denied, "error", jsonval_text(m->error)));
	}
	return silent;
}

json_t *healthreport_summary_json(const struct healthreport *r)
{
	json_t *json =
	    json_pack("{s:s, s:I, s:I, s:I}", "status", status(r), "critical",
	              (json_int_t) count(r, RULES_CRITICAL), "warning",
	              (json_int_t) count(r, RULES_WARNING), "rounds", (json_int_t) r->n_rounds);

	if (r->o == NULL)
		return json;
	(void) json_object_set_new(json, "members", json_integer((json_int_t) r->o->n_members));
	(void) json_object_set_new(json, "answer", json_integer((json_int_t) count_answers(r->o)));
	(void) json_object_set_new(json, "silent", silent_json(r->o));
	(void) json_object_set_new(json, "looked_s", json_integer(r->o->wall_s));
	if (r->compared.next_s > 0)
		(void) json_object_set_new(json, "compare_next_s", json_integer(r->compared.next_s));
	if (r->compared.compared_s > 0) {
		(void) json_object_set_new(json, "compared_s", json_integer(r->compared.compared_s));
		(void) json_object_set_new(json, "compared_revision", json_integer(r->compared.revision));
		(void) json_object_set_new(json, "compared_same",
		                           json_boolean(r->compared.result == HASHES_SAME));
	}
	return json;
}

json_t *healthreport_finding_json(const struct healthreport *r, const struct judge_finding *f)
{
	return json_pack("{s:s, s:s, s:s, s:I, s:s, s:s}", "id", f->rule->id, "severity",
	                 rules_severity_name(f->rule->severity), "subject", f->subject, "since_s",
	                 (json_int_t) (r->wall_s - (r->now_us - f->since_us) / US_PER_S), "sentence",
	                 f->sentence, "to_do", f->rule->to_do);
}

void healthreport_add_runway(const struct healthreport *r, uint64_t member, json_t *object)
{
	json_t *growth_json = json_null(), *runway_json = json_null();

	for (size_t i = 0; r->o != NULL && i < r->o->n_members; i++) {
		const struct observation_member *m = &r->o->members[i];
		double growth, runway_s;

		if (m->id != member)
			continue;
		if (m->quota_bytes > 0 && json_is_null(json_object_get(object, "quota_bytes")))
			(void) json_object_set_new(object, "quota_bytes", json_integer(m->quota_bytes));
		if (trend_growth(r->trend, member, &growth))
			growth_json = json_integer((json_int_t) (growth * S_PER_HOUR));
		if (trend_runway(r->trend, m, &runway_s) && isfinite(runway_s))
			runway_json = json_integer((json_int_t) MIN(runway_s, RUNWAY_MAX_S));
	}
	(void) json_object_set_new(object, "growth_bytes_per_hour", growth_json);
	(void) json_object_set_new(object, "quota_runway_s", runway_json);
}

/* --- metrics --- */

static bool get_up(const struct observation_member *m, const struct trend *trend UNUSED,
                   double *ret)
{
	*ret = m->answer == OBSERVED_GOOD;
	return m->answer != OBSERVED_NOTHING;
}

static bool get_status(const struct observation_member *m, const struct trend *trend UNUSED,
                       double *ret)
{
	*ret = (double) m->latency_us / (double) US_PER_S;
	return m->answer == OBSERVED_GOOD;
}

static bool get_linearizable(const struct observation_member *m, const struct trend *trend UNUSED,
                             double *ret)
{
	*ret = (double) m->linearizable_us / (double) US_PER_S;
	return m->linearizable == OBSERVED_GOOD;
}

static bool get_serializable(const struct observation_member *m, const struct trend *trend UNUSED,
                             double *ret)
{
	*ret = (double) m->serializable_us / (double) US_PER_S;
	return m->serializable == OBSERVED_GOOD;
}

static bool get_db(const struct observation_member *m, const struct trend *trend UNUSED,
                   double *ret)
{
	*ret = (double) m->db_bytes;
	return m->answer == OBSERVED_GOOD;
}

static bool get_in_use(const struct observation_member *m, const struct trend *trend UNUSED,
                       double *ret)
{
	*ret = (double) m->in_use_bytes;
	return m->answer == OBSERVED_GOOD;
}

static bool get_quota(const struct observation_member *m, const struct trend *trend UNUSED,
                      double *ret)
{
	*ret = (double) m->quota_bytes;
	return m->answer == OBSERVED_GOOD && m->quota_bytes > 0;
}

static bool get_growth(const struct observation_member *m, const struct trend *trend, double *ret)
{
	return trend_growth(trend, m->id, ret);
}

static bool get_runway(const struct observation_member *m, const struct trend *trend, double *ret)
{
	return trend_runway(trend, m, ret);
}

static const struct {
	const char *name;
	const char *help;
	bool (*get)(const struct observation_member *m, const struct trend *trend,
	            double *ret); /* false: not known */
} member_metrics[] = {
    {"fairlead_etcdwatch_member_up{member}", "1 if the member answered in the last round.", get_up},
    {"fairlead_etcdwatch_member_status_seconds{member}", "How long its status took.", get_status},
    {"fairlead_etcdwatch_member_linearizable_read_seconds{member}",
     "How long a linearizable read took.", get_linearizable},
    {"fairlead_etcdwatch_member_serializable_read_seconds{member}",
     "How long a serializable read took.", get_serializable},
    {"fairlead_etcdwatch_member_db_bytes{member}", "The size of its database.", get_db},
    {"fairlead_etcdwatch_member_db_in_use_bytes{member}", "How much of that is in use.",
     get_in_use},
    {"fairlead_etcdwatch_member_quota_bytes{member}", "How large it may become.", get_quota},
    {"fairlead_etcdwatch_member_db_growth_bytes_per_second{member}",
     "How it grows, over half an hour or more.", get_growth},
    {"fairlead_etcdwatch_member_quota_runway_seconds{member}",
     "When it reaches its quota if it grows on like that.", get_runway},
};

/* One that was never started has no name, and one that is being replaced has that of another. */
static bool has_own_name(const struct observation *o, const struct observation_member *member)
{
	size_t n = 0;

	for (size_t i = 0; i < o->n_members; i++)
		n += strcmp(o->members[i].name, member->name) == 0 ? 1 : 0;
	return member->name[0] != '\0' && n == 1;
}

static void add_member(struct metrics *m, const struct observation *o,
                       const struct observation_member *member, double value)
{
	char id[VIEW_NAME_MAX];

	(void) snprintf(id, sizeof(id), "%" PRIx64, member->id);
	metrics_sample(m, value,
	               &(struct metrics_label){"member", has_own_name(o, member) ? member->name : id},
	               1);
}

static void add_if(struct metrics *m, bool is_known, const char *name, const char *help,
                   double value)
{
	metrics_family(m, name, METRICS_GAUGE, help);
	if (is_known)
		metrics_sample(m, value, NULL, 0);
}

static void add_compared(struct metrics *m, const struct compare_report *c)
{
	bool is_known = c->compared_s > 0;
	const struct {
		const char *result;
		uint64_t n;
	} counts[] = {{"same", c->n_same}, {"differ", c->n_differ}, {"none", c->n_nothing}};

	metrics_family(
	    m, "fairlead_etcdwatch_comparisons_total{result}", METRICS_COUNTER,
	    "Comparisons of the members' data: same, differ, none (no two could be compared).");
	for (size_t i = 0; c->is_on && i < ARRAY_SIZE(counts); i++)
		metrics_sample(m, (double) counts[i].n, &(struct metrics_label){"result", counts[i].result},
		               1);
	add_if(m, is_known, "fairlead_etcdwatch_compared_timestamp_seconds",
	       "When the members' data were compared last.", (double) c->compared_s);
	add_if(m, is_known, "fairlead_etcdwatch_compared_seconds", "How long that took.",
	       (double) c->took_us / (double) US_PER_S);
	add_if(m, is_known, "fairlead_etcdwatch_compared_same", "1 if they were the same then.",
	       c->result == HASHES_SAME);
}

static void add_raised(struct metrics *m, const struct healthreport *r)
{
	metrics_family(m, "fairlead_etcdwatch_findings_raised_total{id}", METRICS_COUNTER,
	               "How often each rule has become a finding.");
	for (size_t i = 0; i < RULES_N; i++)
		metrics_sample(m, r->n_raised != NULL ? (double) r->n_raised[i] : 0,
		               &(struct metrics_label){"id", rules[i].id}, 1);
}

/* Of two members of one name, the same may be found. */
static bool is_told(const struct healthreport *r, size_t at)
{
	for (size_t i = 0; i < at; i++) {
		if (r->findings[i]->rule == r->findings[at]->rule &&
		    strcmp(r->findings[i]->subject, r->findings[at]->subject) == 0)
			return true;
	}
	return false;
}

void healthreport_metrics(struct metrics *m, const struct healthreport *r)
{
	metrics_family(m, "fairlead_etcdwatch_health_rounds_total", METRICS_COUNTER,
	               "Rounds of the watchdog.");
	metrics_sample(m, (double) r->n_rounds, NULL, 0);
	metrics_family(m, "fairlead_etcdwatch_finding{id,severity,subject}", METRICS_GAUGE,
	               "1 for each finding that stands.");
	for (size_t i = 0; i < r->n_findings; i++) {
		const struct judge_finding *f = r->findings[i];
		const struct metrics_label labels[] = {
		    {"id", f->rule->id},
		    {"severity", rules_severity_name(f->rule->severity)},
		    {"subject", f->subject},
		};

		if (!is_told(r, i))
			metrics_sample(m, 1, labels, ARRAY_SIZE(labels));
	}
	add_compared(m, &r->compared);
	add_raised(m, r);
	metrics_family(m, "fairlead_etcdwatch_certificate_end_timestamp_seconds{file}", METRICS_GAUGE,
	               "When a certificate on this node's disk ends.");
	for (size_t i = 0; r->o != NULL && i < r->o->n_files; i++)
		metrics_sample(m, (double) r->o->files[i].not_after_s,
		               &(struct metrics_label){"file", r->o->files[i].path}, 1);
	for (size_t i = 0; r->o != NULL && i < ARRAY_SIZE(member_metrics); i++) {
		metrics_family(m, member_metrics[i].name, METRICS_GAUGE, member_metrics[i].help);
		for (size_t k = 0; k < r->o->n_members; k++) {
			double value;

			if (member_metrics[i].get(&r->o->members[k], r->trend, &value))
				add_member(m, r->o, &r->o->members[k], value);
		}
	}
}
