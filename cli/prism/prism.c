/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that talk to prism: a question, and the answer as it is (-o json) or for people. */
#include "cli/common/cli.h"

#include <stdio.h>

#include "base/macro.h"
#include "base/mono.h"
#include "cli/common/fields.h"
#include "cli/prism/prism_render.h"
#include "cli/common/table.h"

#define DAEMON "prism"
#define TIMEOUT_US (5 * US_PER_S)

int cli_prism_status(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	const char *words[] = {"prism", "status"};

	return cli_show(cli, DAEMON, words, ARRAY_SIZE(words), prism_render_status);
}

static int change(const struct cli *cli, const char *word, const char *upstream,
                  struct client_answer **ret_answer)
{
	const char *words[] = {"prism", word, upstream};
	int code = cli_ask(cli, DAEMON, words, ARRAY_SIZE(words), TIMEOUT_US, ret_answer);

	if (code == CLI_OK && cli->output != CLI_TABLE)
		cli_print_answer(cli, *ret_answer);
	return code;
}

int cli_prism_drain(const struct cli *cli, int argc UNUSED, char **argv)
{
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	int code = change(cli, "drain", argv[0], &answer);

	if (code != CLI_OK || cli->output != CLI_TABLE)
		return code;
	table_print_safe(stdout, argv[0]);
	(void) printf(": drained: new connections go elsewhere while another upstream can take them; "
	              "%lld are open\n",
	              (long long) field_integer(json_array_get(answer->objects, 0), "connections"));
	return CLI_OK;
}

int cli_prism_undrain(const struct cli *cli, int argc UNUSED, char **argv)
{
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	int code = change(cli, "undrain", argv[0], &answer);

	if (code != CLI_OK || cli->output != CLI_TABLE)
		return code;
	table_print_safe(stdout, argv[0]);
	(void) puts(": no longer drained: it takes new connections again");
	return CLI_OK;
}
