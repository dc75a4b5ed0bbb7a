/* SPDX-License-Identifier: Apache-2.0 */
/* `fairlead etcd drill`: what it prints of what a drill found, and which command lines it takes. */
#include "cli/snapshot/drill.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "tests/unit/check.h"
#include "tests/unit/clirun.h"

typedef void (*render_fn)(FILE *out, const json_t *object);

static void check_text(render_fn render, const char *object, const char *want)
{
	json_t *json = json_loads(object, 0, NULL);
	AUTO(free) char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	CHECK(json != NULL);
	render(out, json);
	(void) fclose(out);
	json_decref(json);
	CHECK_EQ_STR(text, want);
}

static void test_result(void)
{
	check_text(drill_render_phase, "{\"phase\":\"restore\"}", "restore ...\n");
	check_text(drill_render_phase, "{\"phase\":\"\\u001b[2J\"}", "?[2J ...\n");
	check_text(drill_render_phase, "{\"checks\":[]}", "");
	check_text(drill_render_result, "{\"phase\":\"restore\"}", "");
	check_text(drill_render_result,
	           "{\"ok\":false,\"checks\":[{\"check\":\"digest\",\"ok\":true},{\"check\":\"hash\","
	           "\"ok\":false,\"wanted\":10,\"found\":200}],\"phases\":{\"unpack\":40,"
	           "\"start\":1260},\"versions\":{\"etcd\":\"3.5.16\",\"etcdutl\":\"3.5.16\"},"
	           "\"took_ms\":1300}",
	           "CHECK   WANTED  FOUND\n"
	           "digest       -      -  ok\n"
	           "hash        10    200  DIFFERS\n"
	           "took 1.3 s: unpack 0.0, start 1.3\n"
	           "etcd 3.5.16, etcdutl 3.5.16\n");
	/* Of another version, or broken off early. */
	check_text(drill_render_result, "{\"checks\":[]}", "took 0.0 s\n");
	check_text(drill_render_result, "{\"checks\":[7],\"phases\":9,\"versions\":[]}",
	           "CHECK  WANTED  FOUND\n"
	           "-           -      -  DIFFERS\n"
	           "took 0.0 s\n");
}

static void test_notes(void)
{
	check_text(drill_render_notes, "{\"job\":\"a\",\"drill\":null}", "");
	check_text(drill_render_notes, "{\"job\":\"a\",\"drill\":{\"failed\":false,\"overdue\":false}}",
	           "");
	check_text(drill_render_notes,
	           "{\"job\":\"a\",\"drill\":{\"failed\":true,\"reason\":\"no etcd\",\"overdue\":true,"
	           "\"last_good_age_s\":7300}}",
	           "warning: a: the last drill failed: no etcd\n"
	           "warning: a: a drill is overdue: the last good one was 2h ago\n");
	check_text(drill_render_notes,
	           "{\"job\":\"a\",\"drill\":{\"overdue\":true,\"last_good_age_s\":null}}",
	           "warning: a: a drill is overdue: none has gone well so far\n");
}

static void test_words(void)
{
	static const struct {
		const char *line;
		int code;
		const char *says;
	} cases[] = {
	    {"etcd drill a b", CLI_USAGE, "too many arguments for 'etcd drill'"},
	    {"etcd drill a --file f", CLI_USAGE, "name one job, or one file with --file"},
	    {"etcd drill --timeout 5", CLI_USAGE, "this option is for a file"},
	    {"etcd drill --identity k a", CLI_USAGE, "this option is for a file"},
	    {"etcd drill --nonsense", CLI_USAGE, "unrecognized option"},
	    {"etcd drill -o xml", CLI_USAGE, "no output format 'xml'"},
	    {"etcd drill", CLI_UNREACHABLE, "etcdwatch does not answer"},
	    {"etcd drill hourly", CLI_UNREACHABLE, "etcdwatch does not answer"},
	    {"etcd drill --help", CLI_OK, ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) char *line = xasprintf("-r %s %s", clirun_dir, cases[i].line);
		AUTO(free) char *out = NULL;
		AUTO(free) char *err = NULL;

		CHECK_EQ_INT(clirun(line, &out, &err), cases[i].code);
		if (!CHECK(strstr(err, cases[i].says) != NULL))
			(void) fprintf(stderr, "  %s: %s\n", cases[i].line, err);
		CHECK_EQ_INT(strstr(out, "Usage: ") != NULL, cases[i].code == CLI_OK);
	}
}

int main(void)
{
	test_result();
	test_notes();
	clirun_begin();
	test_words();
	clirun_end();
	return check_result();
}
