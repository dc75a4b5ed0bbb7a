/* SPDX-License-Identifier: Apache-2.0 */
/* What `fairlead etcd health` prints, to the byte; and what each check of `fairlead health` makes
 * of an answer. */
#include "cli/node/healthchecks.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/cli.h"
#include "tests/unit/check.h"
#include "tests/unit/clirun.h"
#include "tests/unit/scripted.h"

static void check_text(const char *objects, const char *want)
{
	json_t *json = json_loads(objects, 0, NULL);
	AUTO(free) char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	CHECK(json != NULL);
	health_render(out, json, 1000 * US_PER_S);
	(void) fclose(out);
	json_decref(json);
	CHECK_EQ_STR(text, want);
}

static void test_render(void)
{
	check_text("[{\"status\":\"unknown\",\"critical\":0,\"warning\":0,\"rounds\":0}]",
	           "etcd: unknown, nobody has been asked yet\n");
	check_text("[{\"status\":\"ok\",\"critical\":0,\"warning\":0,\"members\":3,\"answer\":3}]",
	           "etcd: ok, 0 critical, 0 warning, 3 of 3 members answer\n");
	check_text("[{\"status\":\"critical\",\"critical\":1,\"warning\":1,\"members\":3,\"answer\":2},"
	           "{\"id\":\"no-space\",\"severity\":\"critical\",\"subject\":\"n1\",\"since_s\":880,"
	           "\"sentence\":\"full \\u001b[31m\",\"to_do\":\"Compact.\"},"
	           "{\"id\":\"member-down\",\"severity\":\"warning\",\"since_s\":950}]",
	           "etcd: critical, 1 critical, 1 warning, 2 of 3 members answer\n"
	           "\n"
	           "critical  2m  no-space: full ?[31m\n"
	           "  Compact.\n"
	           "\n"
	           "warning  50s  member-down: -\n"
	           "  -\n");
	check_text("[{\"status\":\"ok\",\"critical\":0,\"warning\":0,\"members\":3,\"answer\":3,"
	           "\"compare_next_s\":1001}]",
	           "etcd: ok, 0 critical, 0 warning, 3 of 3 members answer\n"
	           "data: not compared yet, next compared at 1970-01-01T00:16:41Z\n");
	check_text("[{\"status\":\"ok\",\"critical\":0,\"warning\":0,\"members\":3,\"answer\":3,"
	           "\"compare_next_s\":1000,\"compared_s\":60,\"compared_same\":true}]",
	           "etcd: ok, 0 critical, 0 warning, 3 of 3 members answer\n"
	           "data: the same at 1970-01-01T00:01:00Z, next compared as soon as nothing speaks "
	           "against it\n");
	check_text("[{\"status\":\"ok\",\"critical\":0,\"warning\":0,\"members\":3,\"answer\":3,"
	           "\"compared_s\":60,\"compared_same\":false}]",
	           "etcd: ok, 0 critical, 0 warning, 3 of 3 members answer\n"
	           "data: different at 1970-01-01T00:01:00Z\n");
	/* Until the rule finds it, why a member does not answer stands below the first line. */
	check_text("[{\"status\":\"warning\",\"critical\":0,\"warning\":1,\"members\":3,\"answer\":1,"
	           "\"silent\":[{\"member\":\"n2\",\"error\":\"refused\"},"
	           "{\"member\":\"n3\",\"error\":\"no \\u001b[31m route\"}]},"
	           "{\"id\":\"member-down\",\"severity\":\"warning\",\"subject\":\"n2\","
	           "\"since_s\":950,\"sentence\":\"n2: refused\"}]",
	           "etcd: warning, 0 critical, 1 warning, 1 of 3 members answer\n"
	           "n3 does not answer: no ?[31m route\n"
	           "\n"
	           "warning  50s  member-down: n2: refused\n"
	           "  -\n");
	check_text("[{\"status\":\"warning\",\"critical\":0,\"warning\":0,\"members\":3,\"answer\":2,"
	           "\"silent\":[{\"member\":\"n2\",\"denied\":true,\"error\":\"refuses this\"}]}]",
	           "etcd: warning, 0 critical, 0 warning, 2 of 3 members answer\n"
	           "n2 refuses this\n");
	check_text("[]", "");
}

#define CHANGE "the network is not being changed"
#define DRIFT "the network is as it was confirmed"
#define MEMBERS "all members of etcd answer"
#define CRITICAL "nothing about etcd is critical"
#define REACHED "an API server can be reached"
#define ALL_GOOD "all API servers are good"
#define TOLD "prism is told whether API servers are ready"
#define VIP_TOLD "vipd is told whether the API server is ready"
#define UNKNOWN                                                                       \
	"an API server does not tell whether it is ready: readyz 401. Give the probes a " \
	"certificate: fairlead init --probe-certificate"
#define OWNED "every VIP has an owner"
#define TAKEN "every VIP has somebody to take it over"
#define OUTSIDE "other nodes reach every VIP"

static const struct {
	const char *check;
	const char *objects;
	const char *reason; /* NULL: it is good */
} rows[] = {
    {CHANGE, "[{\"change\":null,\"blocked\":null}]", NULL},
    {CHANGE, "[{\"change\":{\"phase\":\"awaiting\"},\"blocked\":null}]", "a change is awaiting"},
    {CHANGE, "[{\"change\":null,\"blocked\":{\"reason\":\"a file\"}}]",
     "netconf changes nothing: a file"},
    {CHANGE, "[{}]", "netconf does not tell"},
    {DRIFT, "[{\"drift\":{\"state\":\"none\"}}]", NULL},
    {DRIFT, "[{\"drift\":{\"state\":\"off\"}}]", NULL},
    {DRIFT, "[{\"drift\":{\"state\":\"fight\"}}]", "the network and what was confirmed: fight"},
    {DRIFT, "[]", "the network and what was confirmed: -"},
    {MEMBERS, "[{\"answer\":3,\"members\":3}]", NULL},
    {MEMBERS, "[{\"answer\":2,\"members\":3}]", "2 of 3 members answer"},
    {MEMBERS, "[{\"status\":\"unknown\"}]", "nobody has been asked yet"},
    {CRITICAL, "[{\"status\":\"ok\"}]", NULL},
    {CRITICAL, "[{\"status\":\"warning\"},{\"severity\":\"warning\",\"sentence\":\"a\"}]", NULL},
    {CRITICAL, "[{\"status\":\"critical\"},{\"severity\":\"critical\",\"sentence\":\"bad\"}]",
     "bad"},
    {CRITICAL, "[{\"status\":\"unknown\"}]", "nobody has been asked yet"},
    {CRITICAL, "[]", "etcdwatch does not tell"},
    {REACHED, "[{\"usable\":1}]", NULL},
    {REACHED, "[{\"usable\":0}]", "prism knows none that is worth trying"},
    {ALL_GOOD, "[{},{\"upstream\":\"a\",\"state\":\"ready\"}]", NULL},
    {ALL_GOOD, "[{},{\"upstream\":\"a\",\"state\":\"down\",\"drained\":true}]", NULL},
    {ALL_GOOD, "[{},{\"upstream\":\"a\",\"state\":\"down\"}]", "a is down"},
    {ALL_GOOD, "[{\"checks\":true},{\"upstream\":\"a\",\"state\":\"alive\"}]", NULL},
    {ALL_GOOD, "[{\"checks\":false},{\"upstream\":\"a\",\"state\":\"unknown\",\"usable\":true}]",
     NULL},
    {ALL_GOOD, "[{\"checks\":true},{\"upstream\":\"a\",\"state\":\"unknown\",\"usable\":true}]",
     "a is unknown"},
    {ALL_GOOD, "[{}]", "prism knows none"},
    {TOLD, "[{},{\"state\":\"alive\",\"readiness_unknown\":false}]", NULL},
    {TOLD, "[{},{\"reason\":\"readyz 401\",\"readiness_unknown\":true}]", UNKNOWN},
    {VIP_TOLD, "[{\"readiness_unknown\":false},{\"vip\":\"v\"}]", NULL},
    {VIP_TOLD, "[{\"readiness_unknown\":true,\"health_reason\":\"readyz 401\",\"reason\":\"a\"}]",
     UNKNOWN},
    {OWNED, "[]", NULL},
    {OWNED, "[{\"vip\":\"v\",\"owner\":\"n1\",\"etcd_ok\":true}]", NULL},
    {OWNED, "[{\"vip\":\"v\",\"owner\":null,\"etcd_ok\":true}]", "v has no owner"},
    {OWNED, "[{\"vip\":\"v\",\"owner\":\"n1\",\"etcd_ok\":false}]", "v cannot ask etcd"},
    {TAKEN, "[{\"vip\":\"v\",\"candidates\":[{},{}]}]", NULL},
    {TAKEN, "[{\"vip\":\"v\",\"candidates\":[{}]}]", "nobody could take v over"},
    {OUTSIDE, "[{\"vip\":\"v\",\"candidates\":[{},{},{}]}]", NULL},
    {OUTSIDE, "[{\"vip\":\"v\",\"outside_unreached\":0,\"candidates\":[]}]", NULL},
    {OUTSIDE, "[{\"vip\":\"v\",\"outside_unreached\":1,\"candidates\":[{},{},{}]}]", NULL},
    {OUTSIDE,
     "[{},{\"vip\":\"v\",\"owner\":\"n1\",\"outside_unreached\":2,\"candidates\":[{},{},{}]}]",
     "2 of 2 nodes cannot connect to v on its owner, n1: a firewall there?"},
    {OUTSIDE, "[{\"vip\":\"v\",\"owner\":\"n1\",\"outside_unreached\":1,\"candidates\":[{},{}]}]",
     "1 of 1 nodes cannot connect to v on its owner, n1: a firewall there?"},
};

static const struct healthcheck *find(const char *name)
{
	for (size_t i = 0; i < healthchecks_n; i++) {
		if (strcmp(healthchecks[i].name, name) == 0)
			return &healthchecks[i];
	}
	(void) fprintf(stderr, "no check '%s'\n", name);
	exit(1);
}

static void test_checks(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *json = json_loads(rows[i].objects, 0, NULL);
		char reason[HEALTHCHECKS_REASON_MAX] = "";
		bool good = find(rows[i].check)->look(json, reason);

		CHECK(json != NULL);
		if (!CHECK(good == (rows[i].reason == NULL)) ||
		    !CHECK_EQ_STR(reason, rows[i].reason != NULL ? rows[i].reason : ""))
			(void) fprintf(stderr, "  row %zu\n", i);
		json_decref(json);
	}
}

static void test_since(void)
{
	json_t *told = json_pack("[{s:i}]", "looked_s", 1000);
	json_t *not_yet = json_pack("[{s:s}]", "status", "unknown");

	CHECK(healthchecks_is_since(told, 999));
	CHECK(!healthchecks_is_since(told, 1000));
	CHECK(!healthchecks_is_since(not_yet, 999));
	json_decref(told);
	json_decref(not_yet);
}

/* One that has no socket is passed over, but for one that is enabled. */
static void test_judge(void)
{
	char units[] = "/tmp/fairlead-units-XXXXXX";
	AUTO(free) char *wants = NULL;
	AUTO(free) char *unit = NULL;
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	char reason[HEALTHCHECKS_REASON_MAX] = "";

	CHECK(mkdtemp(units) != NULL);
	wants = xasprintf("%s/fairlead.target.wants", units);
	unit = xasprintf("%s/fairlead-vipd.service", wants);
	CHECK_EQ_INT(mkdir(wants, 0700), 0);
	CHECK_EQ_INT(symlink("/dev/null", unit), 0);
	CHECK_EQ_INT(healthchecks_judge(find(DRIFT), -ENOENT, NULL, units, reason),
	             HEALTHCHECK_NOT_HERE);
	CHECK_EQ_STR(reason, "");
	CHECK_EQ_INT(healthchecks_judge(find(OWNED), -ENOENT, NULL, units, reason), HEALTHCHECK_BAD);
	CHECK_EQ_STR(reason, "vipd does not run, and should");
	CHECK_EQ_INT(healthchecks_judge(find(OWNED), -ECONNREFUSED, NULL, units, reason),
	             HEALTHCHECK_BAD);
	CHECK_EQ_STR(reason, "vipd does not answer: Connection refused");
	CHECK_EQ_INT(healthchecks_judge(find(OWNED), -EACCES, NULL, units, reason), HEALTHCHECK_DENIED);
	CHECK_EQ_INT(client_parse_answer("error busy too many\n", &answer), 0);
	CHECK_EQ_INT(healthchecks_judge(find(OWNED), 0, answer, units, reason), HEALTHCHECK_BAD);
	CHECK_EQ_STR(reason, "vipd: too many");
	CHECK(unlink(unit) == 0 && rmdir(wants) == 0 && rmdir(units) == 0);
}

static const struct scripted_row daemons[] = {
    {"prism", NULL,
     "{\"usable\":1}\n{\"upstream\":\"a\",\"state\":\"ready\"}\n"
     "{\"upstream\":\"b\",\"state\":\"down\"}\nok\n"},
};

/* What was seen before it was begun is not believed where it may wait. */
static void test_waits_for_news(void)
{
	static const struct scripted_row seen_before[] = {
	    {"etcdwatch", NULL,
	     "{\"status\":\"ok\",\"critical\":0,\"warning\":0,\"members\":3,\"answer\":3,"
	     "\"looked_s\":1000}\nok\n"},
	};
	static const struct {
		const char *wait, *out;
		int code;
	} cases[] = {
	    {"0s", "all members of etcd answer: OK\n", CLI_OK},
	    {"1s", "waiting for: all members of etcd answer: etcdwatch has not asked anew yet\n",
	     CLI_FAILED},
	};
	AUTO(free) char *socket = xasprintf("%s/etcdwatch.sock", clirun_dir);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free)
		char *line = xasprintf("-r %s health --wait-timeout %s", clirun_dir, cases[i].wait);
		pid_t pid = scripted_start(clirun_dir, seen_before, ARRAY_SIZE(seen_before));

		clirun_check(line, cases[i].code, cases[i].out, "");
		scripted_stop(pid);
	}
	/* It does not run here any more. */
	CHECK_EQ_INT(unlink(socket), 0);
}

/* A warning is not waited for. */
static void test_warns(void)
{
	static const struct scripted_row unknown[] = {
	    {"prism", NULL,
	     "{\"usable\":1}\n{\"upstream\":\"a\",\"state\":\"alive\",\"reason\":\"readyz 401\","
	     "\"readiness_unknown\":true}\nok\n"},
	};
	pid_t pid = scripted_start(clirun_dir, unknown, ARRAY_SIZE(unknown));
	AUTO(free) char *line = xasprintf("-r %s health --wait-timeout 20s", clirun_dir);
	AUTO(free) char *socket = xasprintf("%s/prism.sock", clirun_dir);

	clirun_check(line, CLI_WARNED,
	             "an API server can be reached: OK\n"
	             "all API servers are good: OK\n"
	             "warning: " TOLD ": " UNKNOWN "\n"
	             "not running here: netconf, etcdwatch, vipd\n",
	             "");
	scripted_stop(pid);
	CHECK_EQ_INT(unlink(socket), 0);
}

static void test_program(void)
{
	AUTO(free) char *line = NULL;
	pid_t pid;

	pid = scripted_start(clirun_dir, daemons, ARRAY_SIZE(daemons));
	line = xasprintf("-r %s health --wait-timeout 0s", clirun_dir);
	clirun_check(line, CLI_FAILED,
	             "an API server can be reached: OK\n"
	             "waiting for: all API servers are good: b is down\n" TOLD ": OK\n"
	             "not running here: netconf, etcdwatch, vipd\n",
	             "");
	scripted_stop(pid);
}

int main(void)
{
	test_render();
	test_checks();
	test_since();
	test_judge();
	clirun_begin();
	test_waits_for_news();
	test_warns();
	test_program();
	clirun_end();
	return check_result();
}
