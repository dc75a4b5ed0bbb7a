/* SPDX-License-Identifier: Apache-2.0 */
/* What `fairlead prism status` prints for given objects, to the byte. */
#include "cli/common/cli.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "cli/common/table.h"
#include "tests/unit/check.h"

#define OVERVIEW                                                                            \
	"{\"listeners\":[{\"endpoint\":\"127.0.0.1:7445\",\"open\":true},"                      \
	"{\"endpoint\":\"[::1]:7445\",\"open\":true}],\"accepting\":true,\"upstreams\":3,"      \
	"\"usable\":3,\"connections\":42,\"max_connections\":30000,"                            \
	"\"sources\":[{\"source\":\"static\",\"upstreams\":3,\"error\":null}],\"checks\":true," \
	"\"probing\":true,\"probe_restarts\":0,\"notes\":[]}"

/* The caller frees. */
static char *render(const char *objects)
{
	json_t *json = json_loads(objects, 0, NULL);
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	CHECK(json != NULL);
	prism_render_status(out, json, 0);
	(void) fclose(out);
	json_decref(json);
	return text;
}

static void check_status(const char *objects, const char *want)
{
	AUTO(free) char *text = render(objects);

	CHECK_EQ_STR(text, want);
}

/* And not one line is broken by a terminal of 80 columns. */
static void test_healthy(void)
{
	static const char objects[] =
	    "[" OVERVIEW
	    ",{\"upstream\":\"192.168.100.11:6443\",\"state\":\"ready\",\"reason\":\"readyz 200\","
	    "\"since_s\":12345.6,\"usable\":true,\"drained\":false,\"leaving_s\":null,\"local\":true,"
	    "\"sources\":[\"static\",\"local\"],\"rtt_ms\":0.4,\"rtt_class\":0,\"connections\":30},"
	    "{\"upstream\":\"192.168.100.12:6443\",\"state\":\"alive\",\"reason\":\"readyz 401\","
	    "\"since_s\":59.9,\"drained\":false,\"leaving_s\":null,\"sources\":[\"static\"],"
	    "\"rtt_ms\":10.2,\"connections\":12},"
	    "{\"upstream\":\"192.168.100.13:6443\",\"state\":\"ready\",\"reason\":\"readyz 200\","
	    "\"since_s\":0.0,\"drained\":true,\"leaving_s\":3.5,\"sources\":[\"static\"],"
	    "\"rtt_ms\":null,\"connections\":0}]";
	AUTO(free) char *text = render(objects);

	CHECK_EQ_STR(text,
	             "listening on 127.0.0.1:7445, [::1]:7445; 42 of 30000 connections; checks on\n"
	             "UPSTREAM             STATE  SINCE     RTT  CONNS  SOURCES       REASON\n"
	             "192.168.100.11:6443  ready     3h   400us     30  static,local\n"
	             "192.168.100.12:6443  alive    59s  10.2ms     12  static        readyz 401\n"
	             "192.168.100.13:6443  ready     0s       -      0  static        drained\n");
	for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1)
		CHECK(strcspn(line, "\n") <= 80);
}

/* The reason is cut where the screen ends, and told whole below. */
static void test_reason(void)
{
	check_status("[" OVERVIEW ",{\"upstream\":\"192.168.100.12:6443\",\"state\":\"not_ready\","
	             "\"reason\":\"readyz 500: etcd, \xc3\xa9t\xc3\xa9 failed\",\"since_s\":100,"
	             "\"leaving_s\":1.0,\"sources\":[\"static\"],\"rtt_ms\":0.4,\"connections\":12},"
	             "{\"upstream\":\"[fd00::1]:6443\",\"state\":\"down\","
	             "\"reason\":\"connection refused\",\"since_s\":90000,\"leaving_s\":9.0,"
	             "\"sources\":[],"
	             "\"rtt_ms\":null,\"connections\":0}]",
	             "listening on 127.0.0.1:7445, [::1]:7445; 42 of 30000 connections; checks on\n"
	             "UPSTREAM             STATE      SINCE    RTT  CONNS  SOURCES  REASON\n"
	             "192.168.100.12:6443  not_ready     1m  400us     12  static   "
	             "leaving: readyz...\n"
	             "[fd00::1]:6443       down         25h      -      0  -        "
	             "connection refused\n"
	             "192.168.100.12:6443: leaving: readyz 500: etcd, \xc3\xa9t\xc3\xa9 failed\n");
}

static void test_troubled(void)
{
	check_status(
	    "[{\"listeners\":[{\"endpoint\":\"127.0.0.1:7445\",\"open\":false}],"
	    "\"accepting\":false,\"upstreams\":1,\"usable\":0,\"connections\":1,"
	    "\"max_connections\":2,\"sources\":[{\"source\":\"static\",\"error\":null},"
	    "{\"source\":\"slices\",\"error\":\"401\\u001b[31m\"}],\"checks\":false,"
	    "\"probing\":false,\"notes\":[\"no CA\",\"two\"]},"
	    "{\"upstream\":\"10.0.0.5:6443\",\"state\":\"hung\",\"reason\":\"no answer in time\","
	    "\"since_s\":5,\"sources\":[\"file\"],\"rtt_ms\":2,\"connections\":3}]",
	    "listening on 127.0.0.1:7445; 1 of 2 connections; checks off\n"
	    "UPSTREAM       STATE  SINCE    RTT  CONNS  SOURCES  REASON\n"
	    "10.0.0.5:6443  hung      5s  2.0ms      3  file     no answer in time\n"
	    "warning: no upstream is in good order: each connection tries all of them\n"
	    "warning: not listening while no upstream is usable: 127.0.0.1:7445\n"
	    "warning: out of file descriptors: accepting is paused\n"
	    "warning: the probe process does not run: health is judged by traffic alone\n"
	    "warning: source slices: 401?[31m\n"
	    "warning: no CA\n"
	    "warning: two\n");
	check_status("[{\"listeners\":[],\"upstreams\":0,\"usable\":0}]",
	             "not listening; 0 of 0 connections; checks on\n"
	             "UPSTREAM  STATE  SINCE  RTT  CONNS  SOURCES  REASON\n"
	             "warning: no upstream is known: every connection fails\n");
}

/* Nothing is taken for granted of what another version sends. */
static void test_unknown(void)
{
	check_status(
	    "[" OVERVIEW ",{\"upstream\":\"10.0.0.5:6443\",\"state\":\"alive\","
	    "\"reason\":\"readyz 401: alive, readiness unknown\",\"since_s\":5,"
	    "\"readiness_unknown\":true,\"sources\":[\"file\"],\"rtt_ms\":2,"
	    "\"connections\":3}]",
	    "listening on 127.0.0.1:7445, [::1]:7445; 42 of 30000 connections; checks on\n"
	    "UPSTREAM       STATE  SINCE    RTT  CONNS  SOURCES  REASON\n"
	    "10.0.0.5:6443  alive     5s  2.0ms      3  file     readyz 401: alive, readin...\n"
	    "10.0.0.5:6443: readyz 401: alive, readiness unknown\n"
	    "warning: an API server does not tell whether it is ready: readyz 401: alive, "
	    "readiness unknown\n"
	    "Give the probes a certificate: fairlead init --probe-certificate\n");
}

static void test_strange(void)
{
	check_status("[]", "UPSTREAM  STATE  SINCE  RTT  CONNS  SOURCES  REASON\n");
	check_status("[{\"listeners\":5,\"usable\":\"x\",\"sources\":{\"a\":1},\"notes\":[1]},"
	             "{\"upstream\":5,\"state\":null,\"since_s\":1e300,\"rtt_ms\":\"x\","
	             "\"connections\":1.5,\"sources\":[1,\"b\"],\"reason\":false},"
	             "{\"upstream\":\"\",\"since_s\":-1,\"sources\":\"c\",\"drained\":1}]",
	             "not listening; 0 of 0 connections; checks on\n"
	             "UPSTREAM  STATE  SINCE  RTT  CONNS  SOURCES  REASON\n"
	             "-         -          -    -      -  -,b\n"
	             "-         -          -    -      -  -\n");
}

/* Cells of the last column, cut to what a line of so many columns leaves. */
static void check_cut(size_t width, const char *cell, size_t want_room, const char *want)
{
	static const struct table_column columns[] = {{"A", TABLE_LEFT}, {"LAST", TABLE_LEFT}};
	AUTO(table_free) struct table *table = table_new(columns, ARRAY_SIZE(columns));
	AUTO(free) char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	char lines[128];

	table_cell(table, "%s", "12345");
	table_cell(table, "%s", cell);
	CHECK_EQ_INT(table_fit_last(table, width), want_room);
	table_print(table, out);
	(void) fclose(out);
	(void) snprintf(lines, sizeof(lines), "A      LAST\n12345  %s\n", want);
	CHECK_EQ_STR(text, lines);
}

static void test_cut(void)
{
	check_cut(15, "12345678", 8, "12345678");
	check_cut(15, "123456789", 8, "12345...");
	/* Characters are kept or go as a whole. */
	check_cut(15, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 8,
	          "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9");
	check_cut(15, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 8,
	          "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9...");
	/* The title stays whole, be there room for it or not. */
	check_cut(5, "12345678", 4, "1...");
	check_cut(0, "1234", 4, "1234");
}

int main(void)
{
	test_healthy();
	test_reason();
	test_troubled();
	test_unknown();
	test_strange();
	test_cut();
	return check_result();
}
