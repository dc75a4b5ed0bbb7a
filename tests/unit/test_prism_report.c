/* SPDX-License-Identifier: Apache-2.0 */
/* The renderings of struct report, to the byte, and promtool's opinion of the metrics. */
#include "prism/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"

#define NOW_US (1000 * US_PER_S)

static const struct report_listener listeners[] = {
    {{{AF_INET, {127, 0, 0, 1}}, 7445}, true},
    {{{AF_INET6, {[15] = 1}}, 7445}, false},
};
static const struct report_source sources[] = {
    {ENDPOINTS_STATIC, 3, ""},
    {ENDPOINTS_SLICES, 0, "https://127.0.0.1:7445: 401 \xff"},
};
static const char *const notes[] = {"no CA: /etc/kubernetes/pki/ca.crt is not there"};

static struct upstream ready = {
    .name = "10.0.0.5:6443",
    .from = ENDPOINTS_FROM(ENDPOINTS_STATIC) | ENDPOINTS_FROM(ENDPOINTS_LOCAL) |
            ENDPOINTS_FROM(ENDPOINTS_SLICES),
    .local = true,
    .judge = {.state = JUDGE_READY, .since_us = NOW_US - 12340 * US_PER_MS, .reason = "readyz 200"},
    .rtt = {.smoothed_us = 840, .class = 0},
    .connections = 4,
    .leaving_since_us = MONO_NEVER,
    .counts = {.connects = 10,
               .connect_failures = 1,
               .hedges = 2,
               .retries = 3,
               .replays = 4,
               .drained = 5,
               .probes = 600,
               .probe_failures = 7,
               .connect_us_sum = 12500,
               .connect_buckets = {[0] = 6, [3] = 3, [UPSTREAM_BUCKETS] = 1}},
};

static struct upstream failing = {
    .name = "[fd00::6]:6443",
    .from = 0,
    .drained = true,
    .judge = {.state = JUDGE_NOT_READY,
              .since_us = NOW_US - 500 * US_PER_MS,
              .reason = "readyz 500: etcd failed"},
    .rtt = {.class = 2},
    .leaving_since_us = NOW_US - 2 * US_PER_S,
};

/* One in each state that the two above are not in. */
static struct upstream others[] = {
    {.name = "unknown", .judge.state = JUDGE_UNKNOWN},
    {.name = "unverified", .judge.state = JUDGE_UNVERIFIED},
    {.name = "alive", .judge.state = JUDGE_ALIVE},
    {.name = "busy", .judge.state = JUDGE_BUSY},
    {.name = "not_ready", .judge.state = JUDGE_NOT_READY},
    {.name = "down", .judge.state = JUDGE_DOWN},
    {.name = "hung", .judge.state = JUDGE_HUNG},
    {.name = "untrusted", .judge.state = JUDGE_UNTRUSTED},
};

static struct upstream *upstreams[] = {&ready, &failing};

static const struct report report = {
    .listeners = listeners,
    .n_listeners = ARRAY_SIZE(listeners),
    .upstreams = upstreams,
    .n_upstreams = ARRAY_SIZE(upstreams),
    .sources = sources,
    .n_sources = ARRAY_SIZE(sources),
    .totals = {.connections = 5,
               .max_connections = 30000,
               .dialling = 1,
               .pipes = 6,
               .accepted = 70,
               .failed = 8,
               .evicted = 9,
               .shed = 10,
               .accept_pauses = 11,
               .closed_idle = 12,
               .closed_half = 13,
               .closed_aged = 14,
               .bytes_up = 15000,
               .bytes_down = UINT64_C(1) << 40},
    .accepting = true,
    .probing = true,
    .probe_restarts = 2,
    .checks = true,
    .now_us = NOW_US,
    .notes = notes,
    .n_notes = ARRAY_SIZE(notes),
};

static void check_json(json_t *json, const char *want)
{
	AUTO(free) char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(15));

	CHECK_EQ_STR(text, want);
	json_decref(json);
}

static void test_overview(void)
{
	static const struct report nothing;

	check_json(report_overview_json(&report),
	           "{\"listeners\":[{\"endpoint\":\"127.0.0.1:7445\",\"open\":true},"
	           "{\"endpoint\":\"[::1]:7445\",\"open\":false}],\"accepting\":true,"
	           "\"upstreams\":2,\"usable\":1,\"connections\":5,\"max_connections\":30000,"
	           "\"dialling\":1,\"pipes\":6,\"accepted\":70,\"failed\":8,\"evicted\":9,\"shed\":10,"
	           "\"accept_pauses\":11,\"closed_idle\":12,\"closed_half\":13,\"closed_aged\":14,"
	           "\"bytes_up\":15000,\"bytes_down\":1099511627776,"
	           "\"sources\":[{\"source\":\"static\",\"upstreams\":3,\"error\":null},"
	           "{\"source\":\"slices\",\"upstreams\":0,"
	           "\"error\":\"https://127.0.0.1:7445: 401 ?\"}],"
	           "\"checks\":true,\"probing\":true,\"probe_restarts\":2,"
	           "\"notes\":[\"no CA: /etc/kubernetes/pki/ca.crt is not there\"]}");
	check_json(report_overview_json(&nothing),
	           "{\"listeners\":[],\"accepting\":false,\"upstreams\":0,\"usable\":0,"
	           "\"connections\":0,\"max_connections\":0,\"dialling\":0,\"pipes\":0,"
	           "\"accepted\":0,\"failed\":0,\"evicted\":0,\"shed\":0,\"accept_pauses\":0,"
	           "\"closed_idle\":0,\"closed_half\":0,\"closed_aged\":0,\"bytes_up\":0,"
	           "\"bytes_down\":0,\"sources\":[],\"checks\":false,\"probing\":false,"
	           "\"probe_restarts\":0,\"notes\":[]}");
}

static void test_upstream(void)
{
	check_json(report_upstream_json(&report, &ready),
	           "{\"upstream\":\"10.0.0.5:6443\",\"state\":\"ready\",\"reason\":\"readyz 200\","
	           "\"since_s\":12.3,\"readiness_unknown\":false,\"usable\":true,\"drained\":false,"
	           "\"leaving_s\":null,"
	           "\"local\":true,\"sources\":[\"static\",\"local\",\"slices\"],\"rtt_ms\":0.84,"
	           "\"rtt_class\":0,\"connections\":4,\"connects\":10,\"connect_failures\":1,"
	           "\"hedges\":2,\"retries\":3,\"replays\":4,\"closed_leaving\":5,\"probes\":600,"
	           "\"probe_failures\":7}");
	check_json(report_upstream_json(&report, &failing),
	           "{\"upstream\":\"[fd00::6]:6443\",\"state\":\"not_ready\","
	           "\"reason\":\"readyz 500: etcd failed\",\"since_s\":0.5,"
	           "\"readiness_unknown\":false,\"usable\":false,\"drained\":true,\"leaving_s\":2.0,"
	           "\"local\":false,\"sources\":[],\"rtt_ms\":null,"
	           "\"rtt_class\":2,\"connections\":0,\"connects\":0,\"connect_failures\":0,"
	           "\"hedges\":0,\"retries\":0,\"replays\":0,\"closed_leaving\":0,\"probes\":0,"
	           "\"probe_failures\":0}");
}

/* Usable: named by a source, not drained, and in a state that is worth a connect. */
static void test_usable(void)
{
	static const char *const usable[] = {"unknown", "alive", "busy", "not_ready"};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		struct upstream u = others[i];
		bool want = false;
		json_t *json;

		for (size_t k = 0; k < ARRAY_SIZE(usable); k++)
			want = want || strcmp(u.name, usable[k]) == 0;
		u.from = ENDPOINTS_FROM(ENDPOINTS_FILE);
		json = report_upstream_json(&report, &u);
		if (!CHECK_EQ_INT(json_is_true(json_object_get(json, "usable")), want))
			(void) fprintf(stderr, "  %s\n", u.name);
		json_decref(json);

		u.drained = true;
		json = report_upstream_json(&report, &u);
		CHECK(json_is_false(json_object_get(json, "usable")));
		json_decref(json);

		u.drained = false;
		u.from = 0;
		json = report_upstream_json(&report, &u);
		CHECK(json_is_false(json_object_get(json, "usable")));
		json_decref(json);
	}
}

/* Once a server has answered for some time and not with its readiness, where it is asked for it. */
static void test_unknown(void)
{
	static const struct {
		enum judge_state state;
		int64_t for_us;
		bool checks, want;
	} cases[] = {
	    {JUDGE_ALIVE, READYZ_UNKNOWN_US, true, true},
	    {JUDGE_ALIVE, READYZ_UNKNOWN_US - 1, true, false},
	    {JUDGE_ALIVE, READYZ_UNKNOWN_US, false, false},
	    {JUDGE_READY, READYZ_UNKNOWN_US, true, false},
	    {JUDGE_BUSY, READYZ_UNKNOWN_US, true, false},
	    {JUDGE_DOWN, READYZ_UNKNOWN_US, true, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct upstream u = {
		    .name = "10.0.0.5:6443",
		    .judge = {.state = cases[i].state, .since_us = NOW_US - cases[i].for_us},
		    .leaving_since_us = MONO_NEVER,
		};
		struct upstream *list = &u;
		const struct report r = {
		    .upstreams = &list, .n_upstreams = 1, .checks = cases[i].checks, .now_us = NOW_US};
		AUTO(metrics_free) struct metrics *m = metrics_new();
		json_t *json = report_upstream_json(&r, &u);

		report_metrics(m, &r);
		CHECK_EQ_INT(json_is_true(json_object_get(json, "readiness_unknown")), cases[i].want);
		CHECK(
		    strstr(metrics_text(m, NULL),
		           cases[i].want
		               ? "fairlead_prism_upstream_readiness_unknown{upstream=\"10.0.0.5:6443\"} 1\n"
		               : "fairlead_prism_upstream_readiness_unknown{upstream=\"10.0.0.5:6443\"} "
		                 "0\n") != NULL);
		json_decref(json);
	}
}

#define UP5 "{upstream=\"10.0.0.5:6443\"} "
#define UP6 "{upstream=\"[fd00::6]:6443\"} "

static void test_metrics(void)
{
	/* Each a whole line. */
	static const char *const lines[] = {
	    "fairlead_prism_build_info{version=\"" FAIRLEAD_VERSION "\"} 1",
	    "fairlead_prism_listener_open{listener=\"127.0.0.1:7445\"} 1",
	    "fairlead_prism_listener_open{listener=\"[::1]:7445\"} 0",
	    "fairlead_prism_accepting 1",
	    "fairlead_prism_connections 5",
	    "fairlead_prism_connections_max 30000",
	    "fairlead_prism_connections_dialling 1",
	    "fairlead_prism_pipes 6",
	    "fairlead_prism_upstreams_usable 1",
	    "fairlead_prism_probing 1",
	    "fairlead_prism_probe_restarts_total 2",
	    "fairlead_prism_config_notes 1",
	    "fairlead_prism_accepted_connections_total 70",
	    "fairlead_prism_failed_connections_total 8",
	    "fairlead_prism_evicted_connections_total 9",
	    "fairlead_prism_shed_connections_total 10",
	    "fairlead_prism_accept_pauses_total 11",
	    "fairlead_prism_closed_connections_total{reason=\"idle\"} 12",
	    "fairlead_prism_closed_connections_total{reason=\"half_closed\"} 13",
	    "fairlead_prism_closed_connections_total{reason=\"aged\"} 14",
	    "fairlead_prism_relayed_bytes_total{direction=\"up\"} 15000",
	    "fairlead_prism_relayed_bytes_total{direction=\"down\"} 1099511627776",
	    "fairlead_prism_source_upstreams{source=\"static\"} 3",
	    "fairlead_prism_source_upstreams{source=\"slices\"} 0",
	    "fairlead_prism_source_error{source=\"static\"} 0",
	    "fairlead_prism_source_error{source=\"slices\"} 1",
	    "fairlead_prism_upstream_state{upstream=\"10.0.0.5:6443\",state=\"ready\"} 1",
	    "fairlead_prism_upstream_state{upstream=\"10.0.0.5:6443\",state=\"not_ready\"} 0",
	    "fairlead_prism_upstream_state{upstream=\"[fd00::6]:6443\",state=\"not_ready\"} 1",
	    "fairlead_prism_upstream_state{upstream=\"[fd00::6]:6443\",state=\"untrusted\"} 0",
	    "fairlead_prism_upstream_source{upstream=\"10.0.0.5:6443\",source=\"slices\"} 1",
	    "fairlead_prism_upstream_connections" UP5 "4",
	    "fairlead_prism_upstream_usable" UP5 "1",
	    "fairlead_prism_upstream_usable" UP6 "0",
	    "fairlead_prism_upstream_drained" UP5 "0",
	    "fairlead_prism_upstream_drained" UP6 "1",
	    "fairlead_prism_upstream_leaving" UP5 "0",
	    "fairlead_prism_upstream_leaving" UP6 "1",
	    "fairlead_prism_upstream_local" UP5 "1",
	    "fairlead_prism_upstream_local" UP6 "0",
	    "fairlead_prism_upstream_rtt_class" UP6 "2",
	    "fairlead_prism_upstream_rtt_seconds" UP5 "0.00084",
	    "fairlead_prism_upstream_connects_total" UP5 "10",
	    "fairlead_prism_upstream_connect_failures_total" UP5 "1",
	    "fairlead_prism_upstream_hedges_total" UP5 "2",
	    "fairlead_prism_upstream_retries_total" UP5 "3",
	    "fairlead_prism_upstream_replays_total" UP5 "4",
	    "fairlead_prism_upstream_drained_connections_total" UP5 "5",
	    "fairlead_prism_upstream_probes_total" UP5 "600",
	    "fairlead_prism_upstream_probe_failures_total" UP5 "7",
	    "fairlead_prism_upstream_probe_failures_total" UP6 "0",
	    "fairlead_prism_upstream_connect_seconds_bucket{upstream=\"10.0.0.5:6443\",le=\"+Inf\"} 10",
	    "fairlead_prism_upstream_connect_seconds_sum" UP5 "0.0125",
	    "fairlead_prism_upstream_connect_seconds_count" UP5 "10",
	    "fairlead_prism_upstream_connect_seconds_count" UP6 "0",
	};
	static const char *const absent[] = {
	    "fairlead_prism_upstream_rtt_seconds{upstream=\"[fd00::6]:6443\"}",
	    "fairlead_prism_upstream_source{upstream=\"[fd00::6]:6443\"",
	    "fairlead_prism_upstream_source{upstream=\"10.0.0.5:6443\",source=\"file\"}",
	    "NaN",
	};
	AUTO(metrics_free) struct metrics *m = metrics_new();
	const char *text;

	report_metrics(m, &report);
	text = metrics_text(m, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		char line[256];

		(void) snprintf(line, sizeof(line), "\n%s\n", lines[i]);
		if (!CHECK(strstr(text, line) != NULL))
			(void) fprintf(stderr, "  %s\n", lines[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(absent); i++) {
		if (!CHECK(strstr(text, absent[i]) == NULL))
			(void) fprintf(stderr, "  %s\n", absent[i]);
	}
}

/* The fourth bucket is cumulative, and its bound is that of upstream.c in seconds. */
static void test_buckets(void)
{
	AUTO(metrics_free) struct metrics *m = metrics_new();
	char line[256];

	report_metrics(m, &report);
	(void) snprintf(
	    line, sizeof(line),
	    "\nfairlead_prism_upstream_connect_seconds_bucket{upstream=\"10.0.0.5:6443\",le=\"%.15g\"}"
	    " 9\n",
	    (double) upstream_bucket_us[3] / (double) US_PER_S);
	if (!CHECK(strstr(metrics_text(m, NULL), line) != NULL))
		(void) fprintf(stderr, "  %s", line);
}

static void check_promtool(const struct report *r)
{
	AUTO(metrics_free) struct metrics *m = metrics_new();
	FILE *pipe = popen("/usr/bin/promtool check metrics", "w");

	if (!CHECK(pipe != NULL))
		return;
	report_metrics(m, r);
	(void) fputs(metrics_text(m, NULL), pipe);
	CHECK_EQ_INT(pclose(pipe), 0);
}

/* --- docs/control.md --- */

static void check_described(const char *page, const char *name)
{
	char quoted[128];

	(void) snprintf(quoted, sizeof(quoted), "| `%s` | ", name);
	if (!CHECK(strstr(page, quoted) != NULL))
		(void) fprintf(stderr, "  docs/control.md does not describe %s\n", name);
}

/* Keys of lists of objects stand as "list[].key". */
static void check_fields(const char *page, json_t *object, const char *prefix)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
	{
		AUTO(free) char *name = xasprintf("%s%s", prefix, key);
		AUTO(free) char *inner = xasprintf("%s[].", name);

		check_described(page, name);
		if (json_is_object(json_array_get(value, 0)))
			check_fields(page, json_array_get(value, 0), inner);
	}
}

/* Each field is in the tables. */
static void test_documented(void)
{
	json_t *overview = report_overview_json(&report);
	json_t *upstream = report_upstream_json(&report, &ready);
	AUTO(free) char *page = NULL;
	size_t len;

	if (!CHECK(file_read("docs/control.md", 1 << 20, &page, &len) >= 0))
		return;
	check_fields(page, overview, "");
	check_fields(page, upstream, "");
	json_decref(overview);
	json_decref(upstream);
}

int main(void)
{
	static const struct report nothing;

	test_overview();
	test_upstream();
	test_usable();
	test_unknown();
	test_metrics();
	test_buckets();
	check_promtool(&report);
	check_promtool(&nothing);
	test_documented();
	return check_result();
}
