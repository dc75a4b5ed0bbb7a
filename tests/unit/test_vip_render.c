/* SPDX-License-Identifier: Apache-2.0 */
/* What `fairlead vip status` prints for given objects, to the byte; and the table under it. */
#include "cli/common/cli.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mono.h"
#include "cli/common/table.h"
#include "tests/unit/check.h"

/* 2026-01-01T00:12:34Z */
#define NOW_US ((INT64_C(1767225600) + 12 * 60 + 34) * US_PER_S)

static void check_status(const char *objects, const char *want)
{
	json_t *json = json_loads(objects, 0, NULL);
	AUTO(free) char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	CHECK(json != NULL);
	vip_render_status(out, json, NOW_US);
	(void) fclose(out);
	CHECK_EQ_STR(text, want);
	json_decref(json);
}

static void test_healthy(void)
{
	check_status(
	    "[{\"vip\":\"10.0.0.5\",\"link\":\"eth0\",\"node\":\"n1\",\"state\":\"owner\","
	    "\"reason\":\"owner silent\",\"since_s\":12.3,\"owner\":\"n1\",\"epoch\":7,"
	    "\"fence\":\"nftables\",\"fence_window_ms\":3000,\"fence_late_ms\":100,\"bound_ms\":3100,"
	    "\"fence_left_ms\":2457,\"confirm_rtt_ms\":1.8,\"health\":\"good\",\"health_reason\":\"\","
	    "\"hold\":false,\"etcd_endpoint\":\"https://127.0.0.1:2379\",\"etcd_ok\":true,"
	    "\"last_move\":{\"from\":\"n2\",\"to\":\"n1\",\"reason\":\"owner silent\","
	    "\"time\":\"2026-01-01T00:00:00Z\",\"duration_ms\":3204},\"foreign_mac\":null,"
	    "\"warnings\":[]},"
	    "{\"vip\":\"fd00::5\",\"link\":\"bond0\",\"node\":\"n1\",\"state\":\"standby\","
	    "\"owner\":\"n2\",\"epoch\":123,\"bound_ms\":5250,\"fence_left_ms\":null,"
	    "\"confirm_rtt_ms\":null,\"health\":\"good\",\"hold\":false,\"etcd_ok\":true,"
	    "\"last_move\":null,\"foreign_mac\":null,\"warnings\":[]}]",
	    "node n1\n"
	    "VIP       LINK   STATE    OWNER  EPOCH  FENCE  BOUND    RTT  HEALTH\n"
	    "10.0.0.5  eth0   owner    n1         7  2.46s   3.1s  1.8ms  good\n"
	    "fd00::5   bond0  standby  n2       123      -   5.2s      -  good\n"
	    "10.0.0.5: moved from n2 12m ago in 3.2 s: owner silent\n");
}

static void test_troubled(void)
{
	check_status(
	    "[{\"vip\":\"10.0.0.5\",\"link\":\"eth0\",\"node\":\"n1\",\"state\":\"down\","
	    "\"reason\":\"link missing\",\"owner\":null,\"epoch\":0,\"bound_ms\":3100,"
	    "\"fence_left_ms\":null,\"confirm_rtt_ms\":10.25,\"health\":\"bad\","
	    "\"health_reason\":\"readyz 500: etcd failed\",\"hold\":true,"
	    "\"etcd_endpoint\":null,\"etcd_ok\":false,\"last_move\":null,"
	    "\"foreign_mac\":\"02:00:00:00:00:01\",\"warnings\":[\"one\",\"two\\u001b[31m\"]}]",
	    "node n1\n"
	    "VIP       LINK  STATE  OWNER  EPOCH  FENCE  BOUND     RTT  HEALTH\n"
	    "10.0.0.5  eth0  down   -          0      -   3.1s  10.2ms  bad\n"
	    "warning: 10.0.0.5: down: link missing\n"
	    "warning: 10.0.0.5: this node is on hold; 'fairlead vip unhold' ends that\n"
	    "warning: 10.0.0.5: the API server of this node is not healthy: readyz 500: etcd failed\n"
	    "warning: 10.0.0.5: etcd does not answer; the last endpoint tried is -\n"
	    "warning: 10.0.0.5: a host that is not the owner has claimed it: 02:00:00:00:00:01\n"
	    "warning: 10.0.0.5: one\n"
	    "warning: 10.0.0.5: two?[31m\n");
}

/* What is configured wrongly comes first, and once; etcd was not asked yet. */
static void test_link_problem(void)
{
	check_status("[{\"vip\":\"10.0.0.5\",\"link\":\"e9\",\"node\":\"n1\",\"state\":\"standby\","
	             "\"link_problem\":\"no subnet\",\"etcd_ok\":false,\"etcd_endpoint\":null,"
	             "\"foreign_mac\":\"02:00:00:00:00:01\",\"foreign_node\":\"n2\","
	             "\"warnings\":[\"takes no part\",\"no subnet\"]}]",
	             "node n1\n"
	             "VIP       LINK  STATE    OWNER  EPOCH  FENCE  BOUND  RTT  HEALTH\n"
	             "10.0.0.5  e9    standby  -          -      -      -    -  -\n"
	             "warning: 10.0.0.5: no subnet\n"
	             "warning: 10.0.0.5: a host that is not the owner has claimed it: "
	             "02:00:00:00:00:01\n"
	             "warning: 10.0.0.5: that is node n2\n"
	             "warning: 10.0.0.5: takes no part\n");
}

/* Nothing is taken for granted of what another version sends. */
static void test_strange(void)
{
	check_status("[]", "no VIP is configured on this node\n");
	check_status("[{}, {\"vip\":5,\"state\":null,\"epoch\":\"x\",\"bound_ms\":\"3\","
	             "\"last_move\":{\"time\":\"yesterday\"},\"warnings\":{\"a\":1},\"hold\":1}]",
	             "node -\n"
	             "VIP  LINK  STATE  OWNER  EPOCH  FENCE  BOUND  RTT  HEALTH\n"
	             "-    -     -      -          -      -      -    -  -\n"
	             "-    -     -      -          -      -      -    -  -\n");
}

static void test_ages(void)
{
	static const struct {
		const char *time;
		const char *line; /* NULL: none */
	} cases[] = {
	    {"2026-01-01T00:12:34Z", "0s ago: x"}, {"2026-01-01T00:11:35Z", "59s ago: x"},
	    {"2026-01-01T00:11:34Z", "1m ago: x"}, {"2025-12-31T23:12:35Z", "59m ago: x"},
	    {"2025-12-31T23:12:34Z", "1h ago: x"}, {"2025-12-30T00:12:35Z", "47h ago: x"},
	    {"2025-12-30T00:12:34Z", "2d ago: x"}, {"2026-01-01T00:13:00Z", "0s ago: x"},
	    {"2026-01-01 00:13:00", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		json_t *json =
		    json_pack("[{s:{s:s, s:s}}]", "last_move", "time", cases[i].time, "reason", "x");
		AUTO(free) char *text = NULL;
		const char *line;
		size_t len;
		FILE *out = open_memstream(&text, &len);
		char want[64];

		vip_render_status(out, json, NOW_US);
		(void) fclose(out);
		(void) snprintf(want, sizeof(want), "-: moved from nobody %s\n",
		                cases[i].line != NULL ? cases[i].line : "");
		line = strstr(text, "-: moved");
		if (cases[i].line != NULL ? !CHECK_EQ_STR(line, want) : !CHECK(line == NULL))
			(void) fprintf(stderr, "  %s gives\n%s", cases[i].time, text);
		json_decref(json);
	}
}

static size_t longest_line(const char *text)
{
	size_t longest = 0;

	for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1)
		longest = MAX(longest, strcspn(line, "\n"));
	return longest;
}

/* A cluster as they are: not one line is broken by a terminal of 80 columns. */
static void test_width(void)
{
	json_t *json =
	    json_pack("[{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:f, s:s, s:{s:s, s:s, s:s, s:i}}]",
	              "vip", "192.168.100.100", "link", "enp1s0", "node", "cp-1", "state", "standby",
	              "owner", "k8s-cp-2", "epoch", 123, "fence_left_ms", 12345, "bound_ms", 13100,
	              "confirm_rtt_ms", 10.2, "health", "good", "last_move", "from", "k8s-cp-3", "time",
	              "2025-12-30T00:12:35Z", "reason", "owner silent", "duration_ms", 3204);
	AUTO(free) char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	vip_render_status(out, json, NOW_US);
	(void) fclose(out);
	if (!CHECK(longest_line(text) <= 80))
		(void) fprintf(stderr, "%s", text);
	json_decref(json);
}

static void test_table(void)
{
	static const struct table_column columns[] = {
	    {"A", TABLE_LEFT}, {"NUMBER", TABLE_RIGHT}, {"B", TABLE_LEFT}};
	AUTO(table_free) struct table *table = table_new(columns, ARRAY_SIZE(columns));
	AUTO(free) char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	table_cell(table, "%s", "\xc3\xa9t\xc3\xa9"); /* three characters */
	table_cell(table, "%d", 5);
	table_cell(table, "%s", "");
	table_cell(table, "%s", "");
	table_cell(table, "%s", "");
	table_cell(table, "%s",
	           "b\n\x7f\xc2\x9b"
	           "c");
	table_cell(table, "%s", "");
	table_cell(table, "%s", "");
	table_cell(table, "%s", "");
	table_print(table, out);
	(void) fclose(out);
	CHECK_EQ_STR(text, "A    NUMBER  B\n"
	                   "\xc3\xa9t\xc3\xa9       5\n"
	                   "             b???c\n"
	                   "\n");
}

int main(void)
{
	test_healthy();
	test_troubled();
	test_link_problem();
	test_strange();
	test_ages();
	test_width();
	test_table();
	return check_result();
}
