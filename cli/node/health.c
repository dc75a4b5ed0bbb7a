/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `fairlead health`: one table of checks, in the order in which things stand on each other: the
 * network, etcd, the API servers, the VIPs. A field that is missing is not good.
 */
#include "cli/node/healthchecks.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/conf.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/cli.h"
#include "cli/common/fields.h"
#include "cli/common/table.h"
#include "cli/status/node.h"

static bool say(char reason[static HEALTHCHECKS_REASON_MAX], const char *what, const char *more)
{
	(void) snprintf(reason, HEALTHCHECKS_REASON_MAX, "%s%s", what, more);
	return false;
}

/* --- network --- */

static bool look_change(const json_t *objects, char reason[static HEALTHCHECKS_REASON_MAX])
{
	const json_t *status = json_array_get(objects, 0);
	const json_t *change = json_object_get(status, "change");

	if (change == NULL)
		return say(reason, "netconf does not tell", "");
	if (!json_is_null(change))
		return say(reason, "a change is ", field_text_or_dash(change, "phase"));
	if (!json_is_null(json_object_get(status, "blocked")))
		return say(reason, "netconf changes nothing: ",
		           field_text_or_dash(json_object_get(status, "blocked"), "reason"));
	return true;
}

static bool look_drift(const json_t *objects, char reason[static HEALTHCHECKS_REASON_MAX])
{
	const json_t *drift = json_object_get(json_array_get(objects, 0), "drift");

	if (field_is(drift, "state", "none") || field_is(drift, "state", "off"))
		return true;
	return say(reason, "the network and what was confirmed: ", field_text_or_dash(drift, "state"));
}

/* --- etcd --- */

static bool look_members(const json_t *objects, char reason[static HEALTHCHECKS_REASON_MAX])
{
	const json_t *summary = json_array_get(objects, 0);
	long long answer = field_integer(summary, "answer"), all = field_integer(summary, "members");

	if (all == 0)
		return say(reason, "nobody has been asked yet", "");
	if (answer == all)
		return true;
	(void) snprintf(reason, HEALTHCHECKS_REASON_MAX, "%lld of %lld members answer", answer, all);
	return false;
}

bool healthchecks_is_since(const json_t *objects, int64_t second)
{
	return field_integer(json_array_get(objects, 0), "looked_s") > second;
}

/* The first finding that is critical stands for all. */
static bool look_findings(const json_t *objects, char reason[static HEALTHCHECKS_REASON_MAX])
{
	const json_t *object;
	size_t i;

	if (field_is(json_array_get(objects, 0), "status", "unknown"))
		return say(reason, "nobody has been asked yet", "");
	json_array_foreach(objects, i, object)
	{
		if (field_is(object, "severity", "critical"))
			return say(reason, "", field_text_or_dash(object, "sentence"));
	}
	if (json_array_size(objects) == 0)
		return say(reason, "etcdwatch does not tell", "");
	return true;
}

/* --- API servers --- */

static bool look_reachable(const json_t *objects, char reason[static HEALTHCHECKS_REASON_MAX])
{
	if (field_integer(json_array_get(objects, 0), "usable") > 0)
		return true;
	return say(reason, "prism knows none that is worth trying", "");
}

static bool look_good(const json_t *objects, char reason[static HEALTHCHECKS_REASON_MAX])
{
	bool is_checked = upstream_is_checked(json_array_get(objects, 0));
	const json_t *object;
	size_t i;

	if (json_array_size(objects) < 2)
		return say(reason, "prism knows none", "");
	json_array_foreach(objects, i, object)
	{
		if (i == 0 || upstream_is_good(object, is_checked) || field_is_true(object, "drained"))
			continue;
		(void) snprintf(reason, HEALTHCHECKS_REASON_MAX, "%s is %s",
		                field_text_or_dash(object, "upstream"),
		                field_text_or_dash(object, "state"));
		return false;
	}
	return true;
}

static bool say_unknown(const char *unknown, char reason[static HEALTHCHECKS_REASON_MAX])
{
	if (unknown == NULL)
		return true;
	(void) snprintf(reason, HEALTHCHECKS_REASON_MAX, "%s%s. %s", UPSTREAM_UNKNOWN_TEXT, unknown,
	                UPSTREAM_UNKNOWN_TO_DO);
	return false;
}

static bool look_told(const json_t *objects, char reason[static HEALTHCHECKS_REASON_MAX])
{
	return say_unknown(upstream_unknown(objects, "reason"), reason);
}

static bool look_vip_told(const json_t *objects, char reason[static HEALTHCHECKS_REASON_MAX])
{
	return say_unknown(upstream_unknown(objects, "health_reason"), reason);
}

/* --- VIPs --- */

static bool look_owned(const json_t *objects, char reason[static HEALTHCHECKS_REASON_MAX])
{
	const json_t *object;
	size_t i;

	json_array_foreach(objects, i, object)
	{
		if (field_text(object, "owner") != NULL && field_is_true(object, "etcd_ok"))
			continue;
		(void) snprintf(reason, HEALTHCHECKS_REASON_MAX, "%s %s", field_text_or_dash(object, "vip"),
		                field_is_true(object, "etcd_ok") ? "has no owner" : "cannot ask etcd");
		return false;
	}
	return true;
}

static bool look_candidates(const json_t *objects, char reason[static HEALTHCHECKS_REASON_MAX])
{
	const json_t *object;
	size_t i;

	json_array_foreach(objects, i, object)
	{
		if (json_array_size(json_object_get(object, "candidates")) >= 2)
			continue;
		(void) snprintf(reason, HEALTHCHECKS_REASON_MAX, "nobody could take %s over",
		                field_text_or_dash(object, "vip"));
		return false;
	}
	return true;
}

/* As the owner counts: more than half of the nodes in the race besides itself (vipd/outside.h). */
static bool look_outside(const json_t *objects, char reason[static HEALTHCHECKS_REASON_MAX])
{
	const json_t *object;
	size_t i;

	json_array_foreach(objects, i, object)
	{
		int64_t unreached = field_integer(object, "outside_unreached");
		int64_t nodes = (int64_t) json_array_size(json_object_get(object, "candidates"));

		if (unreached <= 0 || 2 * unreached < nodes)
			continue;
		(void) snprintf(
		    reason, HEALTHCHECKS_REASON_MAX,
		    "%lld of %lld nodes cannot connect to %s on its owner, %s: a firewall there?",
		    (long long) unreached, (long long) nodes - 1, field_text_or_dash(object, "vip"),
		    field_text_or_dash(object, "owner"));
		return false;
	}
	return true;
}

const struct healthcheck healthchecks[] = {
    {"the network is not being changed", "netconf", {"net", "status"}, look_change, false, false},
    {"the network is as it was confirmed", "netconf", {"net", "status"}, look_drift, false, false},
    {"all members of etcd answer", "etcdwatch", {"etcd", "health"}, look_members, true, false},
    {"nothing about etcd is critical", "etcdwatch", {"etcd", "health"}, look_findings, true, false},
    {"an API server can be reached", "prism", {"prism", "status"}, look_reachable, false, false},
    {"all API servers are good", "prism", {"prism", "status"}, look_good, false, false},
    {"prism is told whether API servers are ready",
     "prism",
     {"prism", "status"},
     look_told,
     false,
     true},
    {"vipd is told whether the API server is ready",
     "vipd",
     {"vip", "status"},
     look_vip_told,
     false,
     true},
    {"every VIP has an owner", "vipd", {"vip", "status"}, look_owned, false, false},
    {"every VIP has somebody to take it over",
     "vipd",
     {"vip", "status"},
     look_candidates,
     false,
     false},
    {"other nodes reach every VIP", "vipd", {"vip", "status"}, look_outside, false, false},
};
const size_t healthchecks_n = ARRAY_SIZE(healthchecks);

/* --- asking --- */

enum healthcheck_result healthchecks_judge(const struct healthcheck *check, int r,
                                           const struct client_answer *answer, const char *units,
                                           char reason[static HEALTHCHECKS_REASON_MAX])
{
	r = node_judge(r, check->daemon, units);
	if (r == -ENOENT)
		return HEALTHCHECK_NOT_HERE;
	if (r == -EACCES)
		return HEALTHCHECK_DENIED;
	if (r == -ESRCH)
		(void) snprintf(reason, HEALTHCHECKS_REASON_MAX, "%s does not run, and should",
		                check->daemon);
	else if (r < 0)
		(void) snprintf(reason, HEALTHCHECKS_REASON_MAX, "%s does not answer: %s", check->daemon,
		                strerror(-r));
	else if (answer->error != NULL)
		(void) snprintf(reason, HEALTHCHECKS_REASON_MAX, "%s: %s", check->daemon, answer->sentence);
	else if (check->look(answer->objects, reason))
		return HEALTHCHECK_GOOD;
	else if (check->warns)
		return HEALTHCHECK_WARNED;
	return HEALTHCHECK_BAD;
}

/* --- the command --- */

/*
 * `fairlead health`: the checks one after the other, each asked again every second until it is good
 * or the time is over. On a terminal a check is one line that changes; elsewhere a line for each
 * new reason, and one for the end. A daemon that has no socket does not run here, and is passed
 * over, unless its unit is enabled: then it should run.
 */

#define ASK_TIMEOUT_US (5 * US_PER_S)
#define AGAIN_US US_PER_S
#define WAIT_US (300 * US_PER_S)
#define WAIT_MAX_US (24 * 3600 * US_PER_S)
/* Cursor to the first column, and clear from there to the end of the line (ECMA-48). */
#define ANEW "\r\033[K"

struct health {
	struct cli cli;
	bool is_live;
	int64_t wait_us;
	int64_t began_s; /* wall clock */
	size_t n_asked;  /* checks of daemons that run here, or should */
	char *absent;    /* "prism, netconf": the others; NULL: none */
};

/* --- asking --- */

static enum healthcheck_result ask(const struct health *h, const struct healthcheck *check,
                                   char reason[static HEALTHCHECKS_REASON_MAX])
{
	AUTO(free) char *path = xasprintf("%s/%s.sock", h->cli.runtime_dir, check->daemon);
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	enum healthcheck_result result;
	size_t n = 0;
	int r;

	while (n < HEALTHCHECKS_WORDS_MAX && check->words[n] != NULL)
		n++;
	r = client_ask(path, check->words, n, ASK_TIMEOUT_US, &answer);
	if (r == -EACCES)
		(void) cli_explain_no_answer(r, check->daemon, path, ASK_TIMEOUT_US);
	result = healthchecks_judge(check, r, answer, node_units(h->cli.runtime_dir), reason);
	if (result != HEALTHCHECK_GOOD || !check->is_of_rounds || h->wait_us == 0 ||
	    healthchecks_is_since(answer->objects, h->began_s))
		return result;
	/* What has happened just before is not seen yet. */
	(void) snprintf(reason, HEALTHCHECKS_REASON_MAX, "%s has not asked anew yet", check->daemon);
	return HEALTHCHECK_BAD;
}

/* --- showing --- */

static const char *result_name(enum healthcheck_result result)
{
	switch (result) {
	case HEALTHCHECK_GOOD:
		return "ok";
	case HEALTHCHECK_WARNED:
		return "warning";
	case HEALTHCHECK_BAD:
		return "failed";
	case HEALTHCHECK_NOT_HERE:
		return "not-here";
	case HEALTHCHECK_DENIED:
		return "denied";
	}
	return "unknown";
}

static void show_line(const struct health *h, const struct healthcheck *check, const char *before,
                      const char *state)
{
	if (h->cli.output != CLI_TABLE)
		return;
	(void) printf("%s%s%s: ", h->is_live ? ANEW : "", before, check->name);
	color_print_state(stdout, state);
	if (!h->is_live)
		(void) putchar('\n');
	(void) fflush(stdout);
}

static void show_end(const struct health *h, const struct healthcheck *check,
                     enum healthcheck_result result, const char *reason)
{
	json_t *json;

	if (h->cli.output == CLI_TABLE) {
		if (result == HEALTHCHECK_GOOD)
			show_line(h, check, "", "OK");
		if (result == HEALTHCHECK_WARNED)
			show_line(h, check, "warning: ", reason);
		if (h->is_live)
			(void) fputs(result <= HEALTHCHECK_BAD ? "\n" : ANEW, stdout);
		return;
	}
	json = json_pack("{s:s, s:s, s:s}", "check", check->name, "result", result_name(result),
	                 "reason", reason);
	cli_print(&h->cli, json);
	(void) fflush(stdout);
	json_decref(json);
}

/* Several checks may be one daemon's; these stand side by side. */
static void add_absent(struct health *h, const struct healthcheck *check)
{
	char *before = h->absent;

	if (before != NULL && strstr(before, check->daemon) != NULL)
		return;
	h->absent = xasprintf("%s%s%s", before != NULL ? before : "", before != NULL ? ", " : "",
	                      check->daemon);
	free(before);
}

/* --- all of them --- */

static enum healthcheck_result wait_for(struct health *h, const struct healthcheck *check,
                                        int64_t deadline_us)
{
	char reason[HEALTHCHECKS_REASON_MAX] = "", shown[HEALTHCHECKS_REASON_MAX] = "";
	enum healthcheck_result result;

	for (;;) {
		result = ask(h, check, reason);
		if (result != HEALTHCHECK_BAD && result != HEALTHCHECK_WARNED)
			reason[0] = '\0';
		else if (result == HEALTHCHECK_BAD && strcmp(reason, shown) != 0)
			show_line(h, check, "waiting for: ", reason);
		(void) snprintf(shown, sizeof(shown), "%s", reason);
		if (result != HEALTHCHECK_BAD || mono_now_us() + AGAIN_US > deadline_us)
			break;
		(void) usleep(AGAIN_US);
	}
	if (result == HEALTHCHECK_NOT_HERE)
		add_absent(h, check);
	else
		h->n_asked++;
	show_end(h, check, result, reason);
	return result;
}

static int run(struct health *h)
{
	int64_t deadline_us = mono_now_us() + h->wait_us;
	int code = CLI_OK;

	h->began_s = wall_now_us() / US_PER_S;
	for (size_t i = 0; i < healthchecks_n; i++) {
		enum healthcheck_result result = wait_for(h, &healthchecks[i], deadline_us);

		if (result == HEALTHCHECK_DENIED)
			return CLI_DENIED;
		if (result == HEALTHCHECK_BAD)
			code = CLI_FAILED;
		if (result == HEALTHCHECK_WARNED && code == CLI_OK)
			code = CLI_WARNED;
	}
	if (h->n_asked > 0 && h->absent != NULL && h->cli.output == CLI_TABLE)
		(void) printf("not running here: %s\n", h->absent);
	if (h->n_asked > 0)
		return code;
	(void) fprintf(stderr, "fairlead: no daemon runs here: there is no socket in %s\n",
	               h->cli.runtime_dir);
	return CLI_UNREACHABLE;
}

static int set_wait_timeout(void *into, const struct cli_option *option UNUSED, const char *value)
{
	struct health *h = into;

	if (conf_parse_duration(value, &h->wait_us) == 0 && h->wait_us >= 0 &&
	    h->wait_us <= WAIT_MAX_US)
		return CLI_OK;
	(void) fprintf(stderr, "fairlead: --wait-timeout must be 0s to 24h, not '%s'\n", value);
	return CLI_USAGE;
}

const struct cli_option cli_health_options[] = {
    {"wait-timeout", .value = "TIME",
     .help = "how long to wait: 30s, 10m (default 5m); 0s: look once", .set = set_wait_timeout},
    {0},
};

int64_t cli_health_waits(const struct cli *cli)
{
	struct health h = {.wait_us = WAIT_US};

	return cli_set_own(cli, &h) == CLI_OK ? h.wait_us : -1;
}

int cli_health(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	struct health h = {.cli = *cli, .is_live = isatty(STDOUT_FILENO) != 0, .wait_us = WAIT_US};
	int code = cli_set_own(cli, &h);

	if (code == CLI_OK)
		code = run(&h);
	free(h.absent);
	return code;
}
