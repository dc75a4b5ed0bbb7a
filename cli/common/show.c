/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks a daemon, turns what goes wrong into a sentence and an exit code, and prints the answer: as
 * JSON, as YAML or by a renderer, once or again every second.
 */
#include "cli/common/cli.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/conf.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/printable.h"
#include "cli/common/progress.h"
#include "cli/common/table.h"

#define INDENT 2

static void print_value(FILE *out, json_t *value, int depth, bool behind_dash);

static bool is_block(json_t *value)
{
	return json_object_size(value) > 0 || json_array_size(value) > 0;
}

static void print_scalar(FILE *out, json_t *value)
{
	AUTO(free)
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));

	printable_write_json(out, text != NULL ? text : "null");
	(void) fputc('\n', out);
}

static void print_indent(FILE *out, int depth)
{
	(void) fprintf(out, "%*s", depth * INDENT, "");
}

static void print_object(FILE *out, json_t *object, int depth, bool behind_dash)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
	{
		if (!behind_dash)
			print_indent(out, depth);
		behind_dash = false;
		conf_write_string(out, key);
		(void) fputs(is_block(value) ? ":\n" : ": ", out);
		print_value(out, value, depth + 1, false);
	}
}

static void print_array(FILE *out, json_t *array, int depth, bool behind_dash)
{
	json_t *value;
	size_t i;

	json_array_foreach(array, i, value)
	{
		if (!behind_dash)
			print_indent(out, depth);
		behind_dash = false;
		(void) fputs("- ", out);
		print_value(out, value, depth + 1, true);
	}
}

/* behind_dash: the first line is begun already. */
static void print_value(FILE *out, json_t *value, int depth, bool behind_dash)
{
	if (!is_block(value))
		print_scalar(out, value);
	else if (json_is_object(value))
		print_object(out, value, depth, behind_dash);
	else
		print_array(out, value, depth, behind_dash);
}

void yaml_print(FILE *out, json_t *value)
{
	(void) fputs("---\n", out);
	print_value(out, value, 0, false);
}

/* --- asking --- */

int cli_explain_no_answer(int r, const char *daemon, const char *path, int64_t timeout_us)
{
	switch (-r) {
	case EACCES:
		(void) fprintf(
		    stderr,
		    "fairlead: %s is not for this user: be root, or join the group of the socket "
		    "(usermod -aG fairlead USER)\n",
		    path);
		return CLI_DENIED;
	case ENOENT:
	case ECONNREFUSED:
	case EPIPE:
		(void) fprintf(stderr,
		               "fairlead: %s does not answer on %s: is it running? systemctl status "
		               "fairlead-%s\n",
		               daemon, path, daemon);
		return CLI_UNREACHABLE;
	case ETIMEDOUT:
		(void) fprintf(
		    stderr,
		    "fairlead: %s has not answered on %s within %d s: does it hang? journalctl -u "
		    "fairlead-%s\n",
		    daemon, path, (int) (timeout_us / US_PER_S), daemon);
		return CLI_UNREACHABLE;
	case EBADMSG:
		(void) fprintf(
		    stderr,
		    "fairlead: the answer of %s on %s was cut off: has it just stopped? systemctl "
		    "status fairlead-%s\n",
		    daemon, path, daemon);
		return CLI_UNREACHABLE;
	case EINVAL:
		(void) fprintf(stderr, "fairlead: an argument holds a control character\n");
		return CLI_USAGE;
	default:
		(void) fprintf(stderr, "fairlead: cannot ask %s on %s: %s\n", daemon, path, strerror(-r));
		return CLI_UNREACHABLE;
	}
}

static int explain_error(const struct client_answer *answer)
{
	static const struct {
		const char *code;
		int exit_code;
	} codes[] = {
	    {"usage", CLI_USAGE},
	    {"denied", CLI_DENIED},
	};

	(void) fputs("fairlead: ", stderr);
	table_print_safe(stderr, answer->sentence);
	(void) fputc('\n', stderr);
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		if (strcmp(answer->error, codes[i].code) == 0)
			return codes[i].exit_code;
	}
	return CLI_FAILED;
}

/* A daemon that is older than this program does not know the last word, and has done nothing: that
 * the words are wrong is found out first. One that takes the name of a job took it for that. */
static bool is_progress_unknown(const struct client_answer *answer, const char *last_word)
{
	if (strcmp(last_word, "--progress") != 0 || answer->error == NULL ||
	    json_array_size(answer->objects) > 0)
		return false;
	return strcmp(answer->error, "usage") == 0 ||
	       (strcmp(answer->error, "notfound") == 0 &&
	        strstr(answer->sentence, "'--progress'") != NULL);
}

int cli_ask(const struct cli *cli, const char *daemon, const char *const *words, size_t n_words,
            int64_t timeout_us, struct client_answer **ret_answer)
{
	return cli_ask_each(cli, daemon, words, n_words, timeout_us, NULL, NULL, ret_answer);
}

int cli_ask_each(const struct cli *cli, const char *daemon, const char *const *words,
                 size_t n_words, int64_t timeout_us, client_object_fn each, void *userdata,
                 struct client_answer **ret_answer)
{
	AUTO(free) char *path = xasprintf("%s/%s.sock", cli->runtime_dir, daemon);
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	int r;

	r = client_ask_each(path, words, n_words, timeout_us, each, userdata, &answer);
	if (r == 0 && is_progress_unknown(answer, words[n_words - 1])) {
		client_answer_free(TAKE_PTR(answer));
		r = client_ask_each(path, words, n_words - 1, timeout_us, each, userdata, &answer);
	}
	progress_clear();
	if (r < 0)
		return cli_explain_no_answer(r, daemon, path, timeout_us);
	if (answer->error != NULL)
		return explain_error(answer);
	*ret_answer = TAKE_PTR(answer);
	return CLI_OK;
}

/* --- showing --- */

#define TIMEOUT_US (5 * US_PER_S)
#define WATCH_US US_PER_S
/* Cursor home, and clear from there on (ECMA-48). */
#define CLEAR_SCREEN "\033[H\033[J"

void cli_print(const struct cli *cli, const json_t *object)
{
	AUTO(free) char *text = NULL;

	if (cli->output == CLI_YAML) {
		/* It is only read. */
		yaml_print(stdout, (json_t *) (uintptr_t) object);
		return;
	}
	text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(15));
	printable_write_json(stdout, text != NULL ? text : "null");
	(void) putchar('\n');
}

/* A daemon's JSON is printed as it came, but for what a terminal would act on. */
void cli_print_answer(const struct cli *cli, const struct client_answer *answer)
{
	const json_t *object;
	size_t i;

	if (cli->output == CLI_JSON)
		printable_write_json(stdout, answer->lines);
	else
		json_array_foreach(answer->objects, i, object) cli_print(cli, object);
}

static int show_once(const struct cli *cli, const char *daemon, const char *const *words,
                     size_t n_words, cli_render_fn render, cli_code_fn worth, int *ret_worth)
{
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	int code = cli_ask(cli, daemon, words, n_words, TIMEOUT_US, &answer);

	if (cli->watch && cli->output == CLI_TABLE && isatty(STDOUT_FILENO))
		(void) fputs(CLEAR_SCREEN, stdout);
	if (code != CLI_OK)
		return code;
	if (cli->output == CLI_TABLE)
		render(stdout, answer->objects, wall_now_us());
	else
		cli_print_answer(cli, answer);
	*ret_worth = worth != NULL ? worth(answer->objects) : CLI_OK;
	return CLI_OK;
}

int cli_show(const struct cli *cli, const char *daemon, const char *const *words, size_t n_words,
             cli_render_fn render, cli_code_fn code)
{
	for (;;) {
		int value = CLI_OK;
		int r = show_once(cli, daemon, words, n_words, render, code, &value);

		/* A watch lives through a restart of the daemon, but not through a question that is wrong.
		 */
		if (!cli->watch || (r != CLI_OK && r != CLI_UNREACHABLE))
			return r == CLI_OK ? value : r;
		if (fflush(stdout) != 0)
			return CLI_FAILED;
		(void) usleep(WATCH_US);
	}
}
