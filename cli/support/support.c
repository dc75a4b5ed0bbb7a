/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `fairlead support`: one archive of what somebody needs who is to say from afar what is wrong with
 * this node. Its summary comes first in reading and last in writing.
 */
#include "cli/common/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/mono.h"
#include "cli/status/board.h"
#include "cli/support/collect.h"

#define SUMMARY "SUMMARY.md"
#define SUMMARY_WIDTH 100
#define TIME_TEXT_BYTES 32
/* Cursor to the first column, and clear from there to the end of the line (ECMA-48). */
#define ANEW "\r\033[K"

struct support {
	const char *file; /* NULL: named after the host and the time */
	const char *since;
	bool no_logs;
	struct texts config;
};

/* --- options --- */

static int add_config(void *into, const struct cli_option *option UNUSED, const char *value)
{
	texts_add(&((struct support *) into)->config, "%s", value);
	return CLI_OK;
}

#define AT(member) .offset = offsetof(struct support, member)

const struct cli_option cli_support_options[] = {
    {"file", .value = "FILE",
     .help = "where to write it; else fairlead-support-HOST-TIME.tar.gz here",
     .completes = CLI_FILES, .set = cli_set_text, AT(file)},
    {"since", .value = "TIME", .help = "how far logs go back, as journalctl has it; else -24h",
     .set = cli_set_text, AT(since)},
    {"no-logs", .help = "without logs", .set = cli_set_flag, AT(no_logs)},
    {"config", .value = "PATH",
     .help = "a file or directory of the configuration; may be repeated; else\nthe default places",
     .completes = CLI_FILES, .set = add_config},
    {0},
};

/* --- on the way --- */

static volatile sig_atomic_t stopped;

static void on_interrupt(int signo UNUSED)
{
	stopped = 1;
}

static bool is_stopped(void)
{
	return stopped != 0;
}

static void show_progress(const char *what)
{
	(void) fprintf(stderr, ANEW "collecting %s ...", what);
	(void) fflush(stderr);
}

/* --- the summary --- */

static void write_list(FILE *out, const char *title, const struct texts *texts)
{
	(void) fprintf(out, "\n## %s\n\n", title);
	for (size_t i = 0; i < texts->n; i++)
		(void) fprintf(out, "- %s\n", texts->items[i]);
	if (texts->n == 0)
		(void) fputs("Nothing.\n", out);
}

/* Nothing, where there is no systemd: system/units.txt is noted then. */
static void write_units(FILE *out, size_t *n_hidden)
{
	AUTO(free) char *units = collect_units(n_hidden);

	if (units != NULL)
		(void) fprintf(out, "\n## Units\n\n```\n%s```\n", units);
}

static void write_summary(FILE *out, const char *name, const struct collect *collect,
                          const struct node_reply replies[static NODE_QUESTIONS])
{
	struct board board = {0};
	struct utsname kernel = {0};

	(void) uname(&kernel);
	board_fill(&board, replies, wall_now_us());
	(void) fprintf(out, "# %s\n\n## What is wrong\n\n", name);
	for (size_t i = 0; i < board.n_matters; i++)
		(void) fprintf(out, "- **%s** %s: %s%s%s\n", board_level_name(board.matters[i].level),
		               board.matters[i].part, board.matters[i].what,
		               board.matters[i].to_do[0] != '\0' ? ". To do: " : "",
		               board.matters[i].to_do);
	if (board.n_running == 0)
		(void) fputs("- No daemon runs here, or none answers.\n", out);
	else if (board.n_matters == 0)
		(void) fputs("Nothing that the daemons know of.\n", out);
	(void) fputs("\n## The node\n\n```\n", out);
	board_print(out, &board, SUMMARY_WIDTH);
	(void) fprintf(out, "```\n\n- fairlead " FAIRLEAD_VERSION "\n- kernel %s %s %s\n",
	               kernel.release, kernel.version, kernel.machine);
	write_units(out, collect->n_hidden);
	write_list(out, "What is missing, and why", stage_notes(collect->stage));
	(void) fprintf(
	    out,
	    "\n## Secrets\n\n%zu values are left out, each with its type and length in its place: "
	    "those that are not known to be harmless. Names, addresses and paths are here.\n",
	    *collect->n_hidden);
	write_list(out, "What is in here", stage_files(collect->stage));
	board_fini(&board);
}

static void add_summary(const struct collect *collect, const char *name,
                        const struct node_reply replies[static NODE_QUESTIONS])
{
	AUTO(free) char *text = NULL;
	size_t len = 0;
	FILE *out = xmemstream_open(&text, &len);

	write_summary(out, name, collect, replies);
	xmemstream_close(out);
	stage_add(collect->stage, SUMMARY, text);
}

/* --- the archive --- */

/* "fairlead-support-cp-1-20261122T134500Z"; to be freed. */
static char *make_name(void)
{
	char host[256] = "node", when[TIME_TEXT_BYTES];
	time_t now = time(NULL);
	struct tm tm;

	(void) gethostname(host, sizeof(host) - 1);
	(void) strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
	for (char *p = host; (p = strchr(p, '/')) != NULL;)
		*p = '-';
	return xasprintf("fairlead-support-%s-%s", host, when);
}

static int say_failed(const char *archive, int r, const char *error)
{
	(void) fprintf(stderr, "fairlead: cannot write '%s': %s\n", archive,
	               error != NULL  ? error
	               : r == -ENOENT ? "no such directory, or no tar"
	                              : strerror(-r));
	return r == -EACCES ? CLI_DENIED : CLI_FAILED;
}

static int finish(struct stage *stage, const char *archive, bool is_live)
{
	AUTO(free) char *error = NULL;
	struct stat st = {0};
	int r = stage_pack(stage, &error);

	if (is_live)
		(void) fputs(ANEW, stderr);
	if (is_stopped())
		return CLI_FAILED;
	if (r == 0)
		r = stage_publish(stage);
	if (r < 0)
		return say_failed(archive, r, error);
	(void) stat(archive, &st);
	(void) printf("wrote %s (%lld kB); its " SUMMARY " says what is wrong; look into it before you "
	              "hand it on\n",
	              archive, (long long) (st.st_size + 999) / 1000);
	return CLI_OK;
}

static int run(const struct cli *cli, const struct support *support, const char *name,
               const char *archive)
{
	bool is_live = isatty(STDERR_FILENO) != 0;
	struct node_reply replies[NODE_QUESTIONS] = {0};
	AUTO(stage_free) struct stage *stage = NULL;
	struct texts files = {0};
	size_t n_hidden = 0;
	struct collect collect = {.n_hidden = &n_hidden,
	                          .runtime_dir = cli->runtime_dir,
	                          .since = support->since,
	                          .with_logs = !support->no_logs,
	                          .progress = is_live ? show_progress : NULL,
	                          .is_stopped = is_stopped};
	int code, r;

	collect_find_config(&support->config, &files);
	r = stage_new(archive, name, &stage);
	if (r < 0) {
		code = say_failed(archive, r, NULL);
	} else {
		collect.stage = stage;
		collect_daemons(&collect, replies);
		collect_config(&collect, &files);
		collect_commands(&collect);
		add_summary(&collect, name, replies);
		code = is_stopped() ? CLI_FAILED : finish(stage, archive, is_live);
	}
	node_replies_fini(replies);
	texts_fini(&files);
	return code;
}

int cli_support(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	const struct sigaction interrupted = {.sa_handler = on_interrupt};
	struct support support = {.since = "-24h"};
	int code = cli_set_own(cli, &support);
	AUTO(free) char *name = make_name();
	AUTO(free) char *standard = xasprintf("%s.tar.gz", name);

	(void) sigaction(SIGINT, &interrupted, NULL);
	(void) sigaction(SIGTERM, &interrupted, NULL);
	if (code == CLI_OK)
		code = run(cli, &support, name, support.file != NULL ? support.file : standard);
	if (is_stopped() && code != CLI_OK)
		(void) fputs("\nfairlead: interrupted: nothing was written\n", stderr);
	texts_fini(&support.config);
	return code;
}
