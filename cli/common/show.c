/* SPDX-License-Identifier: Apache-2.0 */
/* How answers are printed; and a daemon's status, asked once or again every second. */
#include "cli/common/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mono.h"
#include "base/printable.h"
#include "cli/common/yaml.h"

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
