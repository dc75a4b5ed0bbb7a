/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `fairlead health`: the checks one after the other, each asked again every second until it is good
 * or the time is over. On a terminal a check is one line that changes; elsewhere a line for each
 * new reason, and one for the end. A daemon that has no socket does not run here, and is passed
 * over, unless its unit is enabled: then it should run.
 */
#include "cli/common/cli.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/conf.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/node/healthchecks.h"
#include "cli/common/table.h"
#include "cli/status/node.h"

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
