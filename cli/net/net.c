/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands about the network that need no daemon: netconf itself answers them, as it would
 * answer at boot. Files are the configuration; without any it is where it always is.
 */
#include "cli/common/cli.h"
#include "cli/common/texts.h"
#include "cli/common/worker.h"

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
