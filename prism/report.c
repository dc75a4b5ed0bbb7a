/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renders struct report: the objects of `prism status`, and the metrics. Pure. Counters stand in
 * tables by their place in the structs, so that one more is one more line. An upstream that is gone
 * is gone from the metrics as well.
 */
#include "prism/report.h"

#include <math.h>
#include <stdlib.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

/* --- JSON --- */

static json_t *count_json(uint64_t count)
{
	return json_integer((json_int_t) count);
}

/* Worth dialling. The others come behind these, and some are never dialled. */
static bool is_usable(const struct upstream *u)
{
	if (u->drained || u->from == 0)
		return false;
	switch (u->judge.state) {
	case JUDGE_UNKNOWN:
	case JUDGE_READY:
	case JUDGE_ALIVE:
	case JUDGE_BUSY:
	case JUDGE_NOT_READY:
		return true;
	case JUDGE_UNVERIFIED:
	case JUDGE_DOWN:
	case JUDGE_HUNG:
	case JUDGE_UNTRUSTED:
		return false;
	}
	return false;
}

/* Its probes are answered, and for long enough not with its readiness. */
static bool is_unknown(const struct report *report, const struct upstream *u)
{
	return report->checks && u->judge.state == JUDGE_ALIVE &&
	       report->now_us - u->judge.since_us >= READYZ_UNKNOWN_US;
}

static size_t count_usable(const struct report *report)
{
	size_t n = 0;

	for (size_t i = 0; i < report->n_upstreams; i++)
		n += is_usable(report->upstreams[i]);
	return n;
}

static json_t *listeners_json(const struct report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; i < report->n_listeners; i++) {
		json_t *json = json_object();
		char text[ENDPOINT_TEXT_MAX];

		(void) json_object_set_new(
		    json, "endpoint", jsonval_text(endpoint_format(&report->listeners[i].endpoint, text)));
		(void) json_object_set_new(json, "open", json_boolean(report->listeners[i].open));
		(void) json_array_append_new(list, json);
	}
	return list;
}

static json_t *sources_json(const struct report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; i < report->n_sources; i++) {
		const struct report_source *source = &report->sources[i];
		json_t *json = json_object();

		(void) json_object_set_new(json, "source",
		                           jsonval_text(endpoints_source_name(source->source)));
		(void) json_object_set_new(json, "upstreams", count_json(source->n));
		(void) json_object_set_new(json, "error",
		                           jsonval_text(source->error[0] != '\0' ? source->error : NULL));
		(void) json_array_append_new(list, json);
	}
	return list;
}

static json_t *notes_json(const struct report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; i < report->n_notes; i++)
		(void) json_array_append_new(list, jsonval_text(report->notes[i]));
	return list;
}

static void put_totals(json_t *json, const struct report_totals *t)
{
	(void) json_object_set_new(json, "connections", count_json(t->connections));
	(void) json_object_set_new(json, "max_connections", count_json(t->max_connections));
	(void) json_object_set_new(json, "dialling", count_json(t->dialling));
	(void) json_object_set_new(json, "pipes", count_json(t->pipes));
	(void) json_object_set_new(json, "accepted", count_json(t->accepted));
	(void) json_object_set_new(json, "failed", count_json(t->failed));
	(void) json_object_set_new(json, "evicted", count_json(t->evicted));
	(void) json_object_set_new(json, "shed", count_json(t->shed));
	(void) json_object_set_new(json, "accept_pauses", count_json(t->accept_pauses));
	(void) json_object_set_new(json, "closed_idle", count_json(t->closed_idle));
	(void) json_object_set_new(json, "closed_half", count_json(t->closed_half));
	(void) json_object_set_new(json, "closed_aged", count_json(t->closed_aged));
	(void) json_object_set_new(json, "bytes_up", count_json(t->bytes_up));
	(void) json_object_set_new(json, "bytes_down", count_json(t->bytes_down));
}

json_t *report_overview_json(const struct report *report)
{
	json_t *json = json_object();

	(void) json_object_set_new(json, "listeners", listeners_json(report));
	(void) json_object_set_new(json, "accepting", json_boolean(report->accepting));
	(void) json_object_set_new(json, "upstreams", count_json(report->n_upstreams));
	(void) json_object_set_new(json, "usable", count_json(count_usable(report)));
	put_totals(json, &report->totals);
	(void) json_object_set_new(json, "sources", sources_json(report));
	(void) json_object_set_new(json, "checks", json_boolean(report->checks));
	(void) json_object_set_new(json, "probing", json_boolean(report->probing));
	(void) json_object_set_new(json, "probe_restarts", count_json(report->probe_restarts));
	(void) json_object_set_new(json, "notes", notes_json(report));
	return json;
}

static json_t *from_json(unsigned from)
{
	json_t *list = json_array();

	for (unsigned s = 0; s < ENDPOINTS_N_SOURCES; s++) {
		if ((from & ENDPOINTS_FROM(s)) != 0)
			(void) json_array_append_new(list, jsonval_text(endpoints_source_name(s)));
	}
	return list;
}

static void put_counts(json_t *json, const struct upstream_counts *c)
{
	(void) json_object_set_new(json, "connects", count_json(c->connects));
	(void) json_object_set_new(json, "connect_failures", count_json(c->connect_failures));
	(void) json_object_set_new(json, "hedges", count_json(c->hedges));
	(void) json_object_set_new(json, "retries", count_json(c->retries));
	(void) json_object_set_new(json, "replays", count_json(c->replays));
	(void) json_object_set_new(json, "closed_leaving", count_json(c->drained));
	(void) json_object_set_new(json, "probes", count_json(c->probes));
	(void) json_object_set_new(json, "probe_failures", count_json(c->probe_failures));
}

json_t *report_upstream_json(const struct report *report, const struct upstream *u)
{
	json_t *json = json_object();
	int64_t now_us = report->now_us;

	(void) json_object_set_new(json, "upstream", jsonval_text(u->name));
	(void) json_object_set_new(json, "state", jsonval_text(judge_state_name(u->judge.state)));
	(void) json_object_set_new(json, "reason", jsonval_text(u->judge.reason));
	(void) json_object_set_new(json, "since_s",
	                           jsonval_tenths(now_us - u->judge.since_us, US_PER_S));
	(void) json_object_set_new(json, "readiness_unknown", json_boolean(is_unknown(report, u)));
	(void) json_object_set_new(json, "usable", json_boolean(is_usable(u)));
	(void) json_object_set_new(json, "drained", json_boolean(u->drained));
	(void) json_object_set_new(json, "leaving_s",
	                           u->leaving_since_us == MONO_NEVER
	                               ? json_null()
	                               : jsonval_tenths(now_us - u->leaving_since_us, US_PER_S));
	(void) json_object_set_new(json, "local", json_boolean(u->local));
	(void) json_object_set_new(json, "sources", from_json(u->from));
	(void) json_object_set_new(json, "rtt_ms",
	                           u->rtt.smoothed_us == 0
	                               ? json_null()
	                               : json_real((double) u->rtt.smoothed_us / (double) US_PER_MS));
	(void) json_object_set_new(json, "rtt_class", count_json(u->rtt.class));
	(void) json_object_set_new(json, "connections", count_json(u->connections));
	put_counts(json, &u->counts);
	return json;
}

/* --- metrics --- */

static double usable_upstreams_of(const void *from)
{
	return (double) count_usable(from);
}

#define REPORT(member) offsetof(struct report, member)
static const struct metrics_row of_all[] = {
    {"fairlead_prism_accepting", "0 while accepting is paused for want of descriptors.",
     METRICS_BOOL, .offset = REPORT(accepting)},
    {"fairlead_prism_connections", "Connections of clients.", METRICS_UNSIGNED,
     .offset = REPORT(totals.connections)},
    {"fairlead_prism_connections_max", "As many connections of clients as there may be.",
     METRICS_UNSIGNED, .offset = REPORT(totals.max_connections)},
    {"fairlead_prism_connections_dialling", "Connections of clients that have no upstream yet.",
     METRICS_UNSIGNED, .offset = REPORT(totals.dialling)},
    {"fairlead_prism_pipes", "Pipes for bulk data, in use or kept.", METRICS_UNSIGNED,
     .offset = REPORT(totals.pipes)},
    {"fairlead_prism_upstreams_usable", "Upstreams that are worth dialling.", METRICS_CODE,
     .value = usable_upstreams_of},
    {"fairlead_prism_probing", "1 while the probe process runs.", METRICS_BOOL,
     .offset = REPORT(probing)},
    {"fairlead_prism_probe_restarts_total",
     "Times that the probe process ended and was started again.", METRICS_UNSIGNED,
     .offset = REPORT(probe_restarts)},
    {"fairlead_prism_config_notes",
     "Oddities of the configuration that `fairlead prism status` shows.", METRICS_SIZE,
     .offset = REPORT(n_notes)},
    {"fairlead_prism_accepted_connections_total", "Connections of clients that were accepted.",
     METRICS_U64, .offset = REPORT(totals.accepted)},
    {"fairlead_prism_failed_connections_total",
     "Connections of clients that were reset, because no upstream could be reached.", METRICS_U64,
     .offset = REPORT(totals.failed)},
    {"fairlead_prism_evicted_connections_total",
     "Silent connections that were closed to make room for new ones.", METRICS_U64,
     .offset = REPORT(totals.evicted)},
    {"fairlead_prism_shed_connections_total",
     "New connections that were refused for want of room or memory.", METRICS_U64,
     .offset = REPORT(totals.shed)},
    {"fairlead_prism_accept_pauses_total",
     "Times that accepting was paused for want of descriptors.", METRICS_U64,
     .offset = REPORT(totals.accept_pauses)},
    {0},
};

static double usable_of(const void *from)
{
	return is_usable(from);
}

static double leaving_of(const void *from)
{
	return ((const struct upstream *) from)->leaving_since_us != MONO_NEVER;
}

static double rtt_of(const void *from)
{
	const struct upstream *u = from;

	return u->rtt.smoothed_us != 0 ? (double) u->rtt.smoothed_us / (double) US_PER_S : (double) NAN;
}

#define UPSTREAM(member) offsetof(struct upstream, member)
static const struct metrics_row of_upstreams[] = {
    {"fairlead_prism_upstream_connections{upstream}",
     "Connections that it carries, and attempts to make one.", METRICS_UNSIGNED,
     .offset = UPSTREAM(connections)},
    {"fairlead_prism_upstream_usable{upstream}", "1 while it is worth dialling.", METRICS_CODE,
     .value = usable_of},
    {"fairlead_prism_upstream_drained{upstream}", "1 while an operator has taken it out.",
     METRICS_BOOL, .offset = UPSTREAM(drained)},
    {"fairlead_prism_upstream_leaving{upstream}", "1 while its connections are to go elsewhere.",
     METRICS_CODE, .value = leaving_of},
    {"fairlead_prism_upstream_local{upstream}", "1 for the API server of this node.", METRICS_BOOL,
     .offset = UPSTREAM(local)},
    {"fairlead_prism_upstream_rtt_class{upstream}",
     "Class of its round-trip time; 0 is the nearest.", METRICS_UNSIGNED,
     .offset = UPSTREAM(rtt.class)},
    {"fairlead_prism_upstream_connects_total{upstream}",
     "Connects that were made, losers of a race included.", METRICS_U64,
     .offset = UPSTREAM(counts.connects)},
    {"fairlead_prism_upstream_connect_failures_total{upstream}",
     "Connects that were refused, unreachable, or not answered soon enough.", METRICS_U64,
     .offset = UPSTREAM(counts.connect_failures)},
    {"fairlead_prism_upstream_hedges_total{upstream}",
     "Times that another upstream was tried as well, because this one had not answered yet.",
     METRICS_U64, .offset = UPSTREAM(counts.hedges)},
    {"fairlead_prism_upstream_retries_total{upstream}",
     "Times that another upstream was tried, because this one had failed.", METRICS_U64,
     .offset = UPSTREAM(counts.retries)},
    {"fairlead_prism_upstream_replays_total{upstream}",
     "Times that what a client said first went to another upstream, because this one was silent or "
     "cut it off.",
     METRICS_U64, .offset = UPSTREAM(counts.replays)},
    {"fairlead_prism_upstream_drained_connections_total{upstream}",
     "Connections closed because the upstream was to be left.", METRICS_U64,
     .offset = UPSTREAM(counts.drained)},
    {"fairlead_prism_upstream_probes_total{upstream}", "Health checks that were begun.",
     METRICS_U64, .offset = UPSTREAM(counts.probes)},
    {"fairlead_prism_upstream_probe_failures_total{upstream}",
     "Health checks that found it neither ready nor alive.", METRICS_U64,
     .offset = UPSTREAM(counts.probe_failures)},
    {"fairlead_prism_upstream_rtt_seconds{upstream}",
     "Smoothed round-trip time, once there is one.", METRICS_CODE, .value = rtt_of},
    {0},
};

static void put_now(struct metrics *m, const struct report *r)
{
	metrics_family(m, "fairlead_prism_build_info{version}", METRICS_GAUGE,
	               "1; the version is a label.");
	metrics_sample(m, 1, &(struct metrics_label){"version", FAIRLEAD_VERSION}, 1);
	metrics_family(m, "fairlead_prism_listener_open{listener}", METRICS_GAUGE,
	               "1 while prism listens here.");
	for (size_t i = 0; i < r->n_listeners; i++) {
		char text[ENDPOINT_TEXT_MAX];
		const struct metrics_label label = {"listener",
		                                    endpoint_format(&r->listeners[i].endpoint, text)};

		metrics_sample(m, r->listeners[i].open, &label, 1);
	}
	metrics_table(m, of_all, &(struct metrics_subject){.from = r}, 1);
}

static void put_closed(struct metrics *m, const struct report_totals *t)
{
	const struct {
		const char *reason;
		uint64_t count;
	} closed[] = {
	    {"idle", t->closed_idle}, {"half_closed", t->closed_half}, {"aged", t->closed_aged}};

	metrics_family(m, "fairlead_prism_closed_connections_total{reason}", METRICS_COUNTER,
	               "Connections of clients that a limit has closed.");
	for (size_t i = 0; i < ARRAY_SIZE(closed); i++)
		metrics_sample(m, (double) closed[i].count,
		               &(struct metrics_label){"reason", closed[i].reason}, 1);
}

static void put_totals_metrics(struct metrics *m, const struct report_totals *t)
{
	put_closed(m, t);
	metrics_family(m, "fairlead_prism_relayed_bytes_total{direction}", METRICS_COUNTER,
	               "Bytes relayed: up from clients, down to them.");
	metrics_sample(m, (double) t->bytes_up, &(struct metrics_label){"direction", "up"}, 1);
	metrics_sample(m, (double) t->bytes_down, &(struct metrics_label){"direction", "down"}, 1);
}

static void put_sources(struct metrics *m, const struct report *r)
{
	metrics_family(m, "fairlead_prism_source_upstreams{source}", METRICS_GAUGE,
	               "Addresses that the source names.");
	for (size_t i = 0; i < r->n_sources; i++)
		metrics_sample(
		    m, (double) r->sources[i].n,
		    &(struct metrics_label){"source", endpoints_source_name(r->sources[i].source)}, 1);
	metrics_family(m, "fairlead_prism_source_error{source}", METRICS_GAUGE,
	               "1 while the source cannot be read; what it said last goes on to count.");
	for (size_t i = 0; i < r->n_sources; i++)
		metrics_sample(
		    m, r->sources[i].error[0] != '\0',
		    &(struct metrics_label){"source", endpoints_source_name(r->sources[i].source)}, 1);
}

static void put_states(struct metrics *m, const struct report *r)
{
	metrics_family(m, "fairlead_prism_upstream_state{upstream,state}", METRICS_GAUGE,
	               "1 for the state that the upstream is in.");
	for (size_t i = 0; i < r->n_upstreams; i++) {
		for (unsigned s = 0; s < JUDGE_N_STATES; s++) {
			const struct metrics_label labels[] = {{"upstream", r->upstreams[i]->name},
			                                       {"state", judge_state_name(s)}};

			metrics_sample(m, r->upstreams[i]->judge.state == s, labels, ARRAY_SIZE(labels));
		}
	}
	metrics_family(m, "fairlead_prism_upstream_readiness_unknown{upstream}", METRICS_GAUGE,
	               "1 while it answers health checks and does not tell whether it is ready.");
	for (size_t i = 0; i < r->n_upstreams; i++)
		metrics_sample(m, is_unknown(r, r->upstreams[i]),
		               &(struct metrics_label){"upstream", r->upstreams[i]->name}, 1);
	metrics_family(m, "fairlead_prism_upstream_source{upstream,source}", METRICS_GAUGE,
	               "1 for each source that names the upstream.");
	for (size_t i = 0; i < r->n_upstreams; i++) {
		for (unsigned s = 0; s < ENDPOINTS_N_SOURCES; s++) {
			const struct metrics_label labels[] = {{"upstream", r->upstreams[i]->name},
			                                       {"source", endpoints_source_name(s)}};

			if ((r->upstreams[i]->from & ENDPOINTS_FROM(s)) != 0)
				metrics_sample(m, 1, labels, ARRAY_SIZE(labels));
		}
	}
}

static void put_connect_times(struct metrics *m, const struct report *r)
{
	double bounds[UPSTREAM_BUCKETS];

	for (size_t i = 0; i < UPSTREAM_BUCKETS; i++)
		bounds[i] = (double) upstream_bucket_us[i] / (double) US_PER_S;
	metrics_family(m, "fairlead_prism_upstream_connect_seconds{upstream}", METRICS_HISTOGRAM,
	               "How long connects took that were made.");
	for (size_t i = 0; i < r->n_upstreams; i++) {
		const struct upstream *u = r->upstreams[i];

		metrics_histogram(m, bounds, u->counts.connect_buckets, UPSTREAM_BUCKETS,
		                  (double) u->counts.connect_us_sum / (double) US_PER_S,
		                  &(struct metrics_label){"upstream", u->name}, 1);
	}
}

static void put_upstreams(struct metrics *m, const struct report *r)
{
	AUTO(free) struct metrics_subject *subjects = xcalloc(r->n_upstreams, sizeof(*subjects));

	put_states(m, r);
	for (size_t i = 0; i < r->n_upstreams; i++)
		subjects[i] = (struct metrics_subject){.from = r->upstreams[i],
		                                       .is = {"upstream", r->upstreams[i]->name}};
	metrics_table(m, of_upstreams, subjects, r->n_upstreams);
	put_connect_times(m, r);
}

void report_metrics(struct metrics *m, const struct report *report)
{
	put_now(m, report);
	put_totals_metrics(m, &report->totals);
	put_sources(m, report);
	put_upstreams(m, report);
}
