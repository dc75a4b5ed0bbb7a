/* SPDX-License-Identifier: Apache-2.0 */
/* The two renderings of struct vip_report, to the byte, and promtool's opinion of the metrics. */
#include "vipd/report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mono.h"
#include "tests/unit/check.h"

static const struct vip_report_count moves[] = {{"owner silent", 2}, {"handover", 1}};
static const struct vip_report_candidate candidates[] = {{"n1", "good", 100}, {"n2", "bad", 90}};
static const char *const warnings[] = {"the lease's TTL was raised to 15 s", "odd \xff byte"};

static const struct vip_report owner = {
    .vip = "10.0.0.5",
    .link = "eth0",
    .announce = "layer2",
    .node = "n1",
    .state = "owner",
    .reason = "owner silent",
    .in_state_us = 12340 * US_PER_MS,
    .owner = "n1",
    .epoch = 7,
    .owner_revision = 1234,
    .fence = "nftables",
    .fence_window_us = 3 * US_PER_S,
    .fence_late_us = 100 * US_PER_MS,
    .bound_us = 3100 * US_PER_MS,
    .fence_left_us = 2450 * US_PER_MS + 999,
    .confirm_rtt_us = 1840,
    .confirmations = 5000,
    .confirmation_failures = 3,
    .health = HEALTH_GOOD,
    .health_reason = "readyz 200",
    .readiness_unknown = true,
    .priority = 100,
    .etcd_leader = true,
    .etcd_endpoint = "https://127.0.0.1:2379",
    .etcd_ok = true,
    .last_move = {.from = "n2",
                  .to = "n1",
                  .reason = "owner silent",
                  .wall_us = INT64_C(1767225600) * US_PER_S,
                  .duration_us = 3204 * US_PER_MS + 500},
    .moves = moves,
    .n_moves = ARRAY_SIZE(moves),
    .conflicts = 4,
    .in_use = true,
    .foreign_mac = "02:00:00:00:00:01",
    .foreign_node = "n2",
    .readds = 5,
    .outside_reached = 1,
    .outside_unreached = 2,
    .candidates = candidates,
    .n_candidates = ARRAY_SIZE(candidates),
    .warnings = warnings,
    .n_warnings = ARRAY_SIZE(warnings),
};

/* One that knows next to nothing, as just after the start. */
static const struct vip_report unknown = {
    .vip = "fd00::5",
    .link = "bond0.100",
    .link_problem = "no",
    .announce = "hcloud",
    .cloud = "failed",
    .cloud_requests = 7,
    .cloud_failures = 2,
    .node = "n1",
    .state = "down",
    .reason = "link missing",
    .fence = "lifetime",
    .fence_left_us = REPORT_NONE,
    .confirm_rtt_us = REPORT_NONE,
    .health = HEALTH_UNCHECKED,
    .health_reason = "",
    .hold = true,
};

static void check_json(const struct vip_report *report, const char *want)
{
	json_t *json = report_status_json(report);
	AUTO(free) char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(15));

	CHECK_EQ_STR(text, want);
	json_decref(json);
}

static void test_json(void)
{
	check_json(&owner,
	           "{\"vip\":\"10.0.0.5\",\"link\":\"eth0\",\"link_problem\":null,\"announce\":"
	           "\"layer2\",\"cloud\":null,"
	           "\"node\":\"n1\",\"state\":\"owner\","
	           "\"reason\":\"owner silent\",\"since_s\":12.3,\"owner\":\"n1\",\"epoch\":7,"
	           "\"owner_revision\":1234,\"fence\":\"nftables\",\"fence_window_ms\":3000,"
	           "\"fence_late_ms\":100,\"bound_ms\":3100,\"fence_left_ms\":2450,"
	           "\"confirm_rtt_ms\":1.8,\"health\":\"good\",\"health_reason\":\"readyz 200\","
	           "\"readiness_unknown\":true,\"priority\":100,\"hold\":false,\"etcd_leader\":true,"
	           "\"etcd_endpoint\":\"https://127.0.0.1:2379\",\"etcd_ok\":true,"
	           "\"last_move\":{\"from\":\"n2\",\"to\":\"n1\",\"reason\":\"owner silent\","
	           "\"time\":\"2026-01-01T00:00:00Z\",\"duration_ms\":3204},\"moves\":3,"
	           "\"conflicts\":4,\"in_use\":true,\"foreign_mac\":\"02:00:00:00:00:01\","
	           "\"foreign_node\":\"n2\",\"readds\":5,"
	           "\"outside_reached\":1,\"outside_unreached\":2,"
	           "\"candidates\":[{\"node\":\"n1\",\"priority\":100,\"health\":\"good\"},"
	           "{\"node\":\"n2\",\"priority\":90,\"health\":\"bad\"}],"
	           "\"warnings\":[\"the lease's TTL was raised to 15 s\",\"odd ? byte\"]}");
	check_json(&unknown,
	           "{\"vip\":\"fd00::5\",\"link\":\"bond0.100\",\"link_problem\":\"no\","
	           "\"announce\":\"hcloud\",\"cloud\":\"failed\","
	           "\"node\":\"n1\",\"state\":\"down\","
	           "\"reason\":\"link missing\",\"since_s\":0.0,\"owner\":null,\"epoch\":0,"
	           "\"owner_revision\":0,\"fence\":\"lifetime\",\"fence_window_ms\":0,"
	           "\"fence_late_ms\":0,\"bound_ms\":0,\"fence_left_ms\":null,"
	           "\"confirm_rtt_ms\":null,\"health\":\"unchecked\",\"health_reason\":\"\","
	           "\"readiness_unknown\":false,\"priority\":0,\"hold\":true,\"etcd_leader\":false,"
	           "\"etcd_endpoint\":null,\"etcd_ok\":false,\"last_move\":null,\"moves\":0,"
	           "\"conflicts\":0,\"in_use\":false,\"foreign_mac\":null,"
	           "\"foreign_node\":null,\"readds\":0,"
	           "\"outside_reached\":0,\"outside_unreached\":0,\"candidates\":[],"
	           "\"warnings\":[]}");
}

/* Every line that must be there; `absent` begins no line. */
static void test_metrics(void)
{
	static const char *const lines[] = {
	    "fairlead_vipd_build_info{version=\"" FAIRLEAD_VERSION "\"} 1\n",
	    "fairlead_vipd_state{vip=\"10.0.0.5\",state=\"owner\"} 1\n",
	    "fairlead_vipd_state{vip=\"10.0.0.5\",state=\"down\"} 0\n",
	    "fairlead_vipd_state{vip=\"fd00::5\",state=\"down\"} 1\n",
	    "fairlead_vipd_state{vip=\"fd00::5\",state=\"standby\"} 0\n",
	    "fairlead_vipd_state{vip=\"fd00::5\",state=\"taking\"} 0\n",
	    "fairlead_vipd_state{vip=\"fd00::5\",state=\"yielding\"} 0\n",
	    "fairlead_vipd_owner{vip=\"10.0.0.5\"} 1\n",
	    "fairlead_vipd_owner{vip=\"fd00::5\"} 0\n",
	    "fairlead_vipd_epoch{vip=\"10.0.0.5\"} 7\n",
	    "fairlead_vipd_readiness_unknown{vip=\"10.0.0.5\"} 1\n",
	    "fairlead_vipd_readiness_unknown{vip=\"fd00::5\"} 0\n",
	    "fairlead_vipd_fence_left_seconds{vip=\"10.0.0.5\"} 2.450999\n",
	    "fairlead_vipd_fence_window_seconds{vip=\"10.0.0.5\"} 3\n",
	    "fairlead_vipd_bound_seconds{vip=\"10.0.0.5\"} 3.1\n",
	    "fairlead_vipd_confirm_rtt_seconds{vip=\"10.0.0.5\"} 0.00184\n",
	    "fairlead_vipd_confirmations_total{vip=\"10.0.0.5\"} 5000\n",
	    "fairlead_vipd_confirmation_failures_total{vip=\"10.0.0.5\"} 3\n",
	    "fairlead_vipd_last_move_timestamp_seconds{vip=\"10.0.0.5\"} 1767225600\n",
	    "fairlead_vipd_last_move_duration_seconds{vip=\"10.0.0.5\"} 3.2045\n",
	    "fairlead_vipd_moves_total{vip=\"10.0.0.5\",reason=\"owner silent\"} 2\n",
	    "fairlead_vipd_moves_total{vip=\"10.0.0.5\",reason=\"handover\"} 1\n",
	    "fairlead_vipd_conflicts_total{vip=\"10.0.0.5\"} 4\n",
	    "fairlead_vipd_in_use{vip=\"10.0.0.5\"} 1\n",
	    "fairlead_vipd_in_use{vip=\"fd00::5\"} 0\n",
	    "fairlead_vipd_readds_total{vip=\"10.0.0.5\"} 5\n",
	    "fairlead_vipd_outside_reached{vip=\"10.0.0.5\"} 1\n",
	    "fairlead_vipd_outside_unreached{vip=\"10.0.0.5\"} 2\n",
	    "fairlead_vipd_candidates{vip=\"10.0.0.5\"} 2\n",
	    "fairlead_vipd_priority{vip=\"10.0.0.5\"} 100\n",
	    "fairlead_vipd_hold{vip=\"10.0.0.5\"} 0\n",
	    "fairlead_vipd_hold{vip=\"fd00::5\"} 1\n",
	    "fairlead_vipd_etcd_ok{vip=\"10.0.0.5\"} 1\n",
	    "fairlead_vipd_etcd_ok{vip=\"fd00::5\"} 0\n",
	    "fairlead_vipd_etcd_leader{vip=\"10.0.0.5\"} 1\n",
	    "fairlead_vipd_cloud_assigned{vip=\"fd00::5\"} 0\n",
	    "fairlead_vipd_cloud_requests_total{vip=\"fd00::5\"} 7\n",
	    "fairlead_vipd_cloud_failures_total{vip=\"fd00::5\"} 2\n",
	    "fairlead_vipd_warnings{vip=\"10.0.0.5\"} 2\n",
	    "fairlead_vipd_health{vip=\"10.0.0.5\",health=\"good\"} 1\n",
	    "fairlead_vipd_health{vip=\"10.0.0.5\",health=\"bad\"} 0\n",
	    "fairlead_vipd_health{vip=\"fd00::5\",health=\"unchecked\"} 1\n",
	    "fairlead_vipd_health{vip=\"fd00::5\",health=\"unknown\"} 0\n",
	};
	static const char *const absent[] = {
	    "fairlead_vipd_fence_left_seconds{vip=\"fd00::5\"}",
	    "fairlead_vipd_confirm_rtt_seconds{vip=\"fd00::5\"}",
	    "fairlead_vipd_last_move_timestamp_seconds{vip=\"fd00::5\"}",
	    "fairlead_vipd_last_move_duration_seconds{vip=\"fd00::5\"}",
	    "fairlead_vipd_moves_total{vip=\"fd00::5\"",
	    "fairlead_vipd_cloud_assigned{vip=\"10.0.0.5\"}",
	    "fairlead_vipd_cloud_requests_total{vip=\"10.0.0.5\"}",
	    "NaN",
	};
	AUTO(metrics_free) struct metrics *m = metrics_new();
	const char *text;

	report_metrics(m, (const struct vip_report[]){owner, unknown}, 2);
	text = metrics_text(m, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		if (!CHECK(strstr(text, lines[i]) != NULL))
			(void) fprintf(stderr, "  %s", lines[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(absent); i++) {
		if (!CHECK(strstr(text, absent[i]) == NULL))
			(void) fprintf(stderr, "  %s\n", absent[i]);
	}
}

static void check_promtool(const struct vip_report *reports, size_t n)
{
	AUTO(metrics_free) struct metrics *m = metrics_new();
	FILE *pipe = popen("/usr/bin/promtool check metrics", "w");

	if (!CHECK(pipe != NULL))
		return;
	report_metrics(m, reports, n);
	(void) fputs(metrics_text(m, NULL), pipe);
	CHECK_EQ_INT(pclose(pipe), 0);
}

int main(void)
{
	test_json();
	test_metrics();
	check_promtool((const struct vip_report[]){owner, unknown}, 2);
	check_promtool(NULL, 0);
	return check_result();
}
