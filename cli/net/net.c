/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `fairlead net`: what netconf answers in words, changes through its daemon, and what netconf itself
 * answers without a daemon. `net apply` hands the change over and then only follows it: if this
 * program or its session ends, the change still ends confirmed or undone.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/cli.h"
#include "cli/common/fields.h"
#include "cli/common/table.h"
#include "cli/common/texts.h"
#include "cli/common/worker.h"

#define CLASS_WIDTH 15

static void print_class(FILE *out, const char *class)
{
	size_t width = MIN(table_width(class), CLASS_WIDTH);

	table_print_safe(out, class);
	(void) fprintf(out, "%*s", (int) (CLASS_WIDTH + 2 - width), "");
}

static void render_line(FILE *out, const json_t *object)
{
	if (field_text(object, "op") != NULL) {
		(void) fprintf(out, "%4lld  ", (long long) field_integer(object, "step"));
		print_class(out, field_text_or_dash(object, "class"));
		table_print_safe(out, field_text(object, "op"));
		(void) fputc('\n', out);
	} else if (field_text(object, "obstacle") != NULL) {
		const char *at = field_text(object, "at");

		table_print_safe(out, field_text(object, "obstacle"));
		(void) fputs(": ", out);
		if (at != NULL && at[0] != '\0') {
			table_print_safe(out, at);
			(void) fputs(": ", out);
		}
		table_print_safe(out, field_text_or_dash(object, "reason"));
		(void) fputc('\n', out);
	} else if (field_text(object, "note") != NULL) {
		(void) fputs("note: ", out);
		table_print_safe(out, field_text(object, "note"));
		(void) fputc('\n', out);
	} else if (field_text(object, "error") != NULL) {
		table_print_safe(out, field_text(object, "error"));
		(void) fputc('\n', out);
	}
}

/* Of a change that is being undone: what cannot be, for now or for good. */
static void render_left(FILE *out, const json_t *change, const char *id, bool is_given_up)
{
	const char *left = field_text(change, "left_undone");

	if (left != NULL && left[0] != '\0') {
		(void) fputs("not undone: ", out);
		table_print_safe(out, left);
		(void) fputs(is_given_up ? "\n" : "; it is tried again\n", out);
	}
	if (!is_given_up)
		return;
	(void) fputs("the way back is kept: 'fairlead net rollback ", out);
	table_print_safe(out, id);
	(void) fputs("' tries again, 'fairlead net discard ", out);
	table_print_safe(out, id);
	(void) fputs("' leaves the network as it is\n", out);
}

static void render_change(FILE *out, const json_t *change)
{
	const char *phase = field_text_or_dash(change, "phase");
	const char *reason = field_text(change, "reason");
	const char *id = field_text_or_dash(change, "id");
	long long left_s = (long long) json_number_value(json_object_get(change, "left_s"));

	if (strcmp(phase, "awaiting") == 0) {
		(void) fputs("applied: say 'fairlead net confirm ", out);
		table_print_safe(out, id);
		(void) fprintf(out, "' within %lld s, best over a new connection, or it is undone\n",
		               left_s);
		return;
	}
	table_print_safe(out, phase);
	if (reason != NULL && reason[0] != '\0') {
		(void) fputs(": ", out);
		table_print_safe(out, reason);
	}
	(void) fputc('\n', out);
	render_left(out, change, id, strcmp(phase, "half-undone") == 0);
}

static void render_last(FILE *out, const json_t *last, int64_t wall_now_us)
{
	const char *reason = field_text(last, "reason"), *left = field_text(last, "left_undone");
	double ended_s = json_number_value(json_object_get(last, "ended_s"));
	char age[FIELD_AGE_MAX];

	(void) fputs("the last change: ", out);
	table_print_safe(out, field_text_or_dash(last, "how"));
	(void) fprintf(out, ", %s ago",
	               field_age(wall_now_us - (int64_t) (ended_s * (double) US_PER_S), age));
	if (reason != NULL && reason[0] != '\0') {
		(void) fputs(": ", out);
		table_print_safe(out, reason);
	}
	(void) fputc('\n', out);
	if (left != NULL && left[0] != '\0') {
		(void) fputs("what could not be undone: ", out);
		table_print_safe(out, left);
		(void) fputc('\n', out);
	}
}

static void render_left_alone(FILE *out, const json_t *left, int64_t wall_now_us)
{
	double since_s = json_number_value(json_object_get(left, "since_s"));
	double next_s = json_number_value(json_object_get(left, "next_s"));
	const char *by = field_text(left, "by");
	char age[FIELD_AGE_MAX];

	(void) fputs("left alone: ", out);
	table_print_safe(out, field_text_or_dash(left, "step"));
	(void) fprintf(out, "; since %s",
	               field_age(wall_now_us - (int64_t) (since_s * (double) US_PER_S), age));
	(void) fprintf(out, ", tried again in %s",
	               field_age((int64_t) (next_s * (double) US_PER_S), age));
	(void) fputs(by != NULL && by[0] != '\0' ? "; last undone by " : "", out);
	table_print_safe(out, by != NULL ? by : "");
	(void) fputc('\n', out);
}

static void render_drift(FILE *out, const json_t *drift, int64_t wall_now_us)
{
	const char *state = field_text_or_dash(drift, "state");
	const char *duplicate = field_text(drift, "duplicate");
	const json_t *left;
	size_t i;

	if (strcmp(state, "none") == 0)
		(void) fputs("the network is as it was confirmed\n", out);
	if (strcmp(state, "differs") == 0 || strcmp(state, "fight") == 0) {
		(void) fprintf(
		    out,
		    "the network is not as it was confirmed%s; steps that would set it right: %lld, "
		    "the first: ",
		    strcmp(state, "fight") == 0 ? ", and somebody sets it back" : "",
		    (long long) field_integer(drift, "steps"));
		table_print_safe(out, field_text_or_dash(drift, "first"));
		(void) fputc('\n', out);
	}
	json_array_foreach(json_object_get(drift, "left_alone"), i, left)
	{
		render_left_alone(out, left, wall_now_us);
	}
	if (field_integer(drift, "waiting") > 0)
		(void) fprintf(out, "waiting for a link: %lld\n",
		               (long long) field_integer(drift, "waiting"));
	if (duplicate != NULL && duplicate[0] != '\0') {
		(void) fputs("another host has an address of this one, which is not used here: ", out);
		table_print_safe(out, duplicate);
		(void) fputc('\n', out);
	}
}

static void render_blocked(FILE *out, const json_t *blocked)
{
	const char *id = field_text_or_dash(blocked, "id");

	(void) fputs("nothing can be changed: ", out);
	table_print_safe(out, field_text_or_dash(blocked, "reason"));
	(void) fputc('\n', out);
	if (id[0] == '\0' || strcmp(id, "-") == 0)
		return;
	(void) fputs("the network is left alone; netconf goes on by itself when that is mended, and "
	             "'fairlead net discard ",
	             out);
	table_print_safe(out, id);
	(void) fputs("' forgets the change and leaves the network as it is\n", out);
}

static void render_lease(FILE *out, const json_t *lease)
{
	const json_t *addresses = json_object_get(lease, "addresses"), *address;
	const json_t *left = json_object_get(lease, "left_s");
	const char *server = field_text(lease, "server");
	char age[FIELD_AGE_MAX];
	size_t i;

	(void) fputs("DHCP on ", out);
	table_print_safe(out, field_text_or_dash(lease, "link"));
	(void) fprintf(out, ", IPv%lld:", (long long) field_integer(lease, "family"));
	json_array_foreach(addresses, i, address)
	{
		(void) fputc(' ', out);
		table_print_safe(out, json_string_value(address) != NULL ? json_string_value(address) : "");
	}
	if (json_array_size(addresses) == 0)
		(void) fputs(" no lease", out);
	if (server != NULL) {
		(void) fputs(" from ", out);
		table_print_safe(out, server);
	}
	if (json_is_number(left))
		(void) fprintf(out, ", for %s",
		               field_age((int64_t) (json_number_value(left) * (double) US_PER_S), age));
	(void) fprintf(out, "%s\n",
	               field_is_false(lease, "running") ? "; its client does not run" : "");
}

void net_render_status(FILE *out, const json_t *objects, int64_t wall_now_us)
{
	const json_t *status = json_array_get(objects, 0);
	const json_t *change = json_object_get(status, "change");
	const json_t *last = json_object_get(status, "last"), *lease;
	const json_t *blocked = json_object_get(status, "blocked");
	size_t i;

	if (json_is_object(blocked))
		render_blocked(out, blocked);
	else if (json_is_object(change))
		render_change(out, change);
	else if (field_is_true(status, "preparing"))
		(void) fputs("a change is being prepared\n", out);
	else
		(void) fputs("no change is under way\n", out);
	if (!field_is_true(status, "confirmed") && !json_is_object(blocked) && !json_is_object(change))
		(void) fputs("no configuration has ever been confirmed: 'fairlead net apply' begins\n",
		             out);
	render_drift(out, json_object_get(status, "drift"), wall_now_us);
	json_array_foreach(json_object_get(status, "leases"), i, lease)
	{
		render_lease(out, lease);
	}
	if (json_is_object(last))
		render_last(out, last, wall_now_us);
}

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
	render_change(stdout, change);
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
		render_line(stdout, object);
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

void net_render_diff(FILE *out, const json_t *objects, int64_t wall_now_us UNUSED)
{
	const json_t *object;
	size_t i;

	if (json_array_size(objects) == 0)
		(void) fputs("the network is as it was confirmed\n", out);
	json_array_foreach(objects, i, object)
	{
		render_line(out, object);
	}
}

/* --- without the daemon --- */

/* netconf reads these files, by default those of the configuration, as it does at boot. */

#define PROGRAM "netconf"

static void print_line(const json_t *object, void *userdata)
{
	cli_print(userdata, object);
}

static int run(const struct cli *cli, const char *mode, int argc, char **argv)
{
	struct texts words = {0};
	int code;

	texts_add(&words, "%s", mode);
	if (cli->output != CLI_TABLE)
		texts_add(&words, "--json");
	for (int i = 0; i < argc; i++)
		texts_add(&words, "--config=%s", argv[i]);
	/* It speaks JSON itself. */
	if (cli->output == CLI_YAML)
		code = worker_tell(PROGRAM, &words, print_line, (void *) (uintptr_t) cli);
	else
		code = worker_become(PROGRAM, &words);
	texts_fini(&words);
	return code;
}

int cli_net_validate(const struct cli *cli, int argc, char **argv)
{
	return run(cli, "--check", argc, argv);
}

int cli_net_plan(const struct cli *cli, int argc, char **argv)
{
	return run(cli, "--plan", argc, argv);
}

int cli_net_convert(const struct cli *cli, int argc, char **argv)
{
	return run(cli, "--convert", argc, argv);
}
