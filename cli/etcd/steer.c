/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands that change the cluster. etcdwatch is first asked what would be done; that is shown,
 * and on a terminal asked about, and then it is asked to do it. Without a terminal it takes --yes:
 * a script that did not mean it must not remove a member.
 */
#include "cli/common/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/fields.h"
#include "cli/common/progress.h"
#include "cli/common/table.h"
#include "cli/etcd/defragrate.h"

#define DAEMON "etcdwatch"
/* A large database takes its time to be written anew, and each waits for the one before it. */
#define TIMEOUT_US (7200 * US_PER_S)
#define WORDS_MAX 8
#define SHOWN_MAX 24

struct steering {
	const struct cli *cli;
	const char *words[WORDS_MAX];
	size_t n_words;
	size_t member_at; /* the word that names whom to remove; 0: none */
	size_t n_planned;
	struct progress *progress;
	struct defragrate rate; /* of the database that was written anew before */
	char shown[SHOWN_MAX];  /* the ID of the member that the plan removes; "": none */
};

static void add(struct steering *s, const char *word)
{
	s->words[s->n_words++] = word;
}

/* --- what comes --- */

static void print_line(const char *before, const json_t *object, const char *key)
{
	(void) fputs(before, stdout);
	table_print_safe(stdout, field_text_or_dash(object, key));
}

static void print_ms(const char *before, const json_t *object, const char *key)
{
	const json_t *ms = json_object_get(object, key);

	if (json_is_number(ms))
		(void) printf("%s%.1f ms", before, json_number_value(ms));
}

/* What a defragmentation has brought, and what it has cost. */
static void print_measured(const json_t *object)
{
	char before[SIZE_TEXT_MAX], after[SIZE_TEXT_MAX];

	if (!json_is_integer(json_object_get(object, "bytes_after")))
		return;
	(void) printf(", %s to %s", size_text(field_integer(object, "bytes_before"), before),
	              size_text(field_integer(object, "bytes_after"), after));
	print_ms("; a read waited ", object, "stall_ms");
	print_ms(", at the leader ", object, "leader_stall_ms");
}

static void print_step(const json_t *object)
{
	bool planned = strcmp(field_text_or_dash(object, "state"), "planned") == 0;

	print_line(planned ? "would: " : "done:  ", object, "text");
	if (!planned) {
		(void) printf(" (%lld ms", (long long) field_integer(object, "took_ms"));
		print_measured(object);
		(void) fputc(')', stdout);
	}
	(void) fputc('\n', stdout);
}

static void remember_shown(struct steering *s, const json_t *object)
{
	const char *id = field_text(object, "member");

	if (id != NULL && strcmp(field_text_or_dash(object, "step"), "remove") == 0)
		(void) snprintf(s->shown, sizeof(s->shown), "%s", id);
}

static void told(const json_t *object, int fd UNUSED, void *userdata)
{
	struct steering *s = userdata;
	const char *state = field_text(object, "state");

	if (state != NULL && strcmp(state, "planned") == 0) {
		s->n_planned++;
		remember_shown(s, object);
	}
	if (s->cli->output != CLI_TABLE) {
		cli_print(s->cli, object);
	} else if (field_text(object, "note") != NULL) {
		print_line("note:  ", object, "note");
		(void) fputc('\n', stdout);
	} else if (state != NULL) {
		print_step(object);
	}
	(void) fflush(stdout);
}

static void show_progress(struct steering *s, const json_t *object)
{
	AUTO(free) char *what = defragrate_what(object);
	AUTO(free) char *by = xasprintf("the rate of %s", s->rate.node);

	progress_show_time(s->progress, what != NULL ? what : field_text_or_dash(object, "text"),
	                   defragrate_expect(&s->rate, object), by);
}

/* What was planned has been shown. */
static void told_again(const json_t *object, int fd, void *userdata)
{
	const char *state = field_text(object, "state");
	struct steering *s = userdata;

	if (field_text(object, "progress") != NULL)
		show_progress(s, object);
	if (state == NULL || strcmp(state, "planned") == 0)
		return;
	defragrate_take(&s->rate, object);
	progress_clear();
	progress_anew(s->progress);
	told(object, fd, userdata);
}

static int ask(struct steering *s, client_object_fn each)
{
	AUTO(client_answer_free) struct client_answer *answer = NULL;

	return cli_ask_each(s->cli, DAEMON, s->words, s->n_words, TIMEOUT_US, each, s, &answer);
}

/* --- the two questions --- */

static bool is_wanted(void)
{
	char line[16];

	(void) fputs("Go on? [y/N] ", stderr);
	return fgets(line, sizeof(line), stdin) != NULL && (line[0] == 'y' || line[0] == 'Y');
}

static int steer(struct steering *s)
{
	const struct cli *cli = s->cli;
	int code;

	if (!cli->yes && !cli->dry_run && !isatty(STDIN_FILENO)) {
		(void) fputs(
		    "fairlead: this changes the cluster: it takes --yes where nobody can be asked, "
		    "or --dry-run\n",
		    stderr);
		return CLI_USAGE;
	}
	add(s, "--dry-run");
	code = ask(s, told);
	if (code != CLI_OK)
		return code;
	if (s->n_planned == 0 && cli->output == CLI_TABLE)
		(void) puts("nothing to do");
	if (s->n_planned == 0 || cli->dry_run)
		return CLI_OK;
	if (!cli->yes && !is_wanted())
		return CLI_FAILED;
	s->n_words--;
	/* By now another may have the name. */
	if (s->member_at > 0 && s->shown[0] != '\0')
		s->words[s->member_at] = s->shown;
	s->progress = progress_new(cli->output == CLI_TABLE);
	if (progress_is_seen(s->progress))
		add(s, "--progress");
	code = ask(s, told_again);
	progress_free(s->progress);
	return code;
}

int cli_etcd_forfeit_leadership(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	struct steering s = {.cli = cli, .words = {"etcd", "forfeit-leadership"}, .n_words = 2};

	return steer(&s);
}

int cli_etcd_leave(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	struct steering s = {.cli = cli, .words = {"etcd", "leave"}, .n_words = 2};

	return steer(&s);
}

int cli_etcd_remove_member(const struct cli *cli, int argc UNUSED, char **argv)
{
	struct steering s = {
	    .cli = cli, .words = {"etcd", "remove-member", argv[0]}, .n_words = 3, .member_at = 2};

	return steer(&s);
}

int cli_etcd_alarm_disarm(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	struct steering s = {.cli = cli, .words = {"etcd", "alarm", "disarm"}, .n_words = 3};

	if (cli->corrupt_too)
		add(&s, "--corrupt-too");
	if (cli->unchecked)
		add(&s, "--unchecked");
	return steer(&s);
}

int cli_etcd_defrag(const struct cli *cli, int argc, char **argv)
{
	struct steering s = {.cli = cli, .words = {"etcd", "defrag"}, .n_words = 2};

	if ((argc > 0) == cli->all) {
		(void) fputs("fairlead: name a member, or say --all\n", stderr);
		return CLI_USAGE;
	}
	add(&s, cli->all ? "--all" : argv[0]);
	return steer(&s);
}

int cli_etcd_recover_space(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	struct steering s = {.cli = cli, .words = {"etcd", "recover-space"}, .n_words = 2};

	return steer(&s);
}
