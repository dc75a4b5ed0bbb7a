/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changing the network through netconf's daemon. `net apply` hands the change over and then only
 * looks on: whatever becomes of this program and of the session that it runs in, the change goes on
 * to be confirmed or undone.
 */
#include "cli/common/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/fields.h"
#include "cli/net/net_render.h"
#include "cli/common/table.h"
#include "cli/common/texts.h"

#define DAEMON "netconf"
#define TIMEOUT_US (10 * US_PER_S)
#define BEGIN_TIMEOUT_US (60 * US_PER_S) /* what works before the change is tried first */
#define LOOK_US (200 * US_PER_MS)
#define LOST_MAX_US (60 * US_PER_S) /* a daemon that died is started anew */

/* --- the words of a change --- */

/* The address of this machine in SSH_CONNECTION (sshd's): client, its port, server, its port. */
static char *operator_address(void)
{
	AUTO(free)
	char *copy = xstrdup(getenv("SSH_CONNECTION") != NULL ? getenv("SSH_CONNECTION") : "");
	char *rest = NULL, *word = strtok_r(copy, " ", &rest);

	for (int i = 0; i < 2 && word != NULL; i++)
		word = strtok_r(NULL, " ", &rest);
	return xstrdup(word != NULL ? word : "-");
}

static int add_file(struct texts *words, const char *name)
{
	AUTO(free) char *path = realpath(name, NULL);

	if (path == NULL) {
		(void) fprintf(stderr, "fairlead: %s: %s\n", name, strerror(errno));
		return CLI_FAILED;
	}
	texts_add(words, "%s", path);
	return CLI_OK;
}

/* --- looking on --- */

static const json_t *change_of(const struct client_answer *answer)
{
	const json_t *change = json_object_get(
	    json_array_get(answer->objects, json_array_size(answer->objects) - 1), "change");

	return json_is_object(change) ? change : NULL;
}

static const json_t *last_of(const struct client_answer *answer)
{
	return json_object_get(json_array_get(answer->objects, json_array_size(answer->objects) - 1),
	                       "last");
}

/* CLI_UNREACHABLE without a word: it may be back in a moment. */
static int look(const struct cli *cli, struct client_answer **ret_answer)
{
	static const char *const words[] = {"net", "status"};
	AUTO(free) char *path = xasprintf("%s/" DAEMON ".sock", cli->runtime_dir);

	if (client_ask(path, words, ARRAY_SIZE(words), TIMEOUT_US, ret_answer) < 0)
		return CLI_UNREACHABLE;
	if ((*ret_answer)->error == NULL)
		return CLI_OK;
	client_answer_free(*ret_answer);
	*ret_answer = NULL;
	return CLI_UNREACHABLE;
}

/* wanted: the end that is a success. */
static int tell_end(const json_t *last, const char *id, const char *wanted)
{
	const char *how = field_text(last, "how"), *reason = field_text(last, "reason");
	const char *left = field_text(last, "left_undone");

	if (how == NULL || strcmp(field_text_or_dash(last, "id"), id) != 0) {
		(void) fputs("fairlead: nothing is known of the change any more\n", stderr);
		return CLI_FAILED;
	}
	if (strcmp(how, "confirmed") == 0) {
		(void) puts("confirmed");
		return strcmp(how, wanted) == 0 ? CLI_OK : CLI_FAILED;
	}
	(void) fputs(strcmp(how, "rolled-back") == 0 ? "undone: " : "over: ", stderr);
	table_print_safe(stderr, reason != NULL ? reason : "");
	if (left != NULL && left[0] != '\0') {
		(void) fputs("\nnot all could be undone: ", stderr);
		table_print_safe(stderr, left);
	}
	(void) fputc('\n', stderr);
	return strcmp(how, wanted) == 0 ? CLI_OK : CLI_FAILED;
}

/* Each phase once, and in it what is still undone whenever that is something else. */
static void tell_change(const json_t *change, char **told)
{
	AUTO(free)
	char *now = xasprintf("%s %s", field_text_or_dash(change, "phase"),
	                      field_text_or_dash(change, "left_undone"));

	if (*told != NULL && strcmp(*told, now) == 0)
		return;
	net_render_change(stdout, change);
	(void) fflush(stdout);
	free(*told);
	*told = TAKE_PTR(now);
}

/* Until it is the operator's turn, or over. */
static int follow(const struct cli *cli, const char *id, const char *wanted)
{
	AUTO(free) char *told = NULL;
	int64_t lost_us = 0;

	for (;;) {
		AUTO(client_answer_free) struct client_answer *answer = NULL;
		int code = look(cli, &answer);
		const json_t *change = code == CLI_OK ? change_of(answer) : NULL;
		const char *now = change != NULL ? field_text_or_dash(change, "phase") : "";

		if (code != CLI_OK && lost_us >= LOST_MAX_US) {
			(void) fputs(
			    "fairlead: netconf does not answer any more; its guard undoes the change\n",
			    stderr);
			return code;
		}
		lost_us = code == CLI_OK ? 0 : lost_us + LOOK_US;
		if (code == CLI_OK && change == NULL)
			return tell_end(last_of(answer), id, wanted);
		if (change != NULL)
			tell_change(change, &told);
		if (strcmp(now, "awaiting") == 0)
			return CLI_OK;
		if (strcmp(now, "half-undone") == 0)
			return CLI_FAILED;
		(void) usleep((useconds_t) LOOK_US);
	}
}

/* --- the commands --- */

static void each_line(const json_t *object, int fd UNUSED, void *userdata)
{
	const struct cli *cli = userdata;

	if (cli->output != CLI_TABLE)
		cli_print(cli, object);
	else
		net_render_line(stdout, object);
}

static int begin(const struct cli *cli, const struct texts *words)
{
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	AUTO(free) char *id = NULL;
	const json_t *change;
	int code = cli_ask_each(cli, DAEMON, (const char *const *) words->items, words->n,
	                        BEGIN_TIMEOUT_US, each_line, (void *) (uintptr_t) cli, &answer);

	if (code != CLI_OK)
		return code;
	change = change_of(answer);
	if (change == NULL) {
		(void) puts("nothing to do: the network is as this configuration wants it, which is the "
		            "confirmed one now");
		return CLI_OK;
	}
	(void) fflush(stdout);
	id = xstrdup(field_text_or_dash(change, "id"));
	return follow(cli, id, "confirmed");
}

int cli_net_apply(const struct cli *cli, int argc, char **argv)
{
	AUTO(free) char *operator= operator_address();
	struct texts words = {0};
	int code = CLI_OK;

	texts_add(&words, "net");
	texts_add(&words, "apply");
	texts_add(&words, "%s", cli->confirm_within != NULL ? cli->confirm_within : "-");
	texts_add(&words, "%s", operator);
	if (cli->even_without_quorum)
		texts_add(&words, "--even-without-quorum");
	for (int i = 0; i < argc && code == CLI_OK; i++)
		code = add_file(&words, argv[i]);
	if (code == CLI_OK)
		code = begin(cli, &words);
	texts_fini(&words);
	return code;
}

/* "net VERB [ID]" */
static int ask_about(const struct cli *cli, const char *verb, int argc, char **argv,
                     struct client_answer **ret_answer)
{
	const char *const words[] = {"net", verb, argc > 0 ? argv[0] : NULL};

	return cli_ask(cli, DAEMON, words, argc > 0 ? 3 : 2, TIMEOUT_US, ret_answer);
}

static void tell_done(const struct cli *cli, const struct client_answer *answer, const char *text)
{
	if (cli->output != CLI_TABLE)
		cli_print_answer(cli, answer);
	else
		(void) fputs(text, stdout);
}

int cli_net_confirm(const struct cli *cli, int argc, char **argv)
{
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	int code = ask_about(cli, "confirm", argc, argv, &answer);

	if (code == CLI_OK)
		tell_done(cli, answer, "confirmed: it stays, and the next boot applies it\n");
	return code;
}

int cli_net_rollback(const struct cli *cli, int argc, char **argv)
{
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	AUTO(free) char *id = NULL;
	const json_t *change;
	int code = ask_about(cli, "rollback", argc, argv, &answer);

	if (code != CLI_OK)
		return code;
	change = change_of(answer);
	id = xstrdup(field_text_or_dash(change != NULL ? change : last_of(answer), "id"));
	return follow(cli, id, "rolled-back");
}

int cli_net_discard(const struct cli *cli, int argc, char **argv)
{
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	int code = ask_about(cli, "discard", argc, argv, &answer);

	if (code == CLI_OK)
		tell_done(cli, answer, "discarded: the network stays as it is\n");
	return code;
}

int cli_net_status(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	static const char *const words[] = {"net", "status"};

	return cli_show(cli, DAEMON, words, ARRAY_SIZE(words), net_render_status);
}

static void render_diff(FILE *out, const json_t *objects, int64_t wall_now_us UNUSED)
{
	const json_t *object;
	size_t i;

	if (json_array_size(objects) == 0)
		(void) fputs("the network is as it was confirmed\n", out);
	json_array_foreach(objects, i, object)
	{
		net_render_line(out, object);
	}
}

int cli_net_diff(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	static const char *const words[] = {"net", "diff"};

	return cli_show(cli, DAEMON, words, ARRAY_SIZE(words), render_diff);
}
