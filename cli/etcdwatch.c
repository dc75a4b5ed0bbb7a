/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that talk to etcdwatch. */
#include "cli/cli.h"

#include <stdio.h>

#include "base/macro.h"
#include "base/mono.h"
#include "cli/etcdwatch_render.h"

#define DAEMON "etcdwatch"
/* A large database over a slow disk; the answer comes when the snapshot is proven. */
#define SAVE_TIMEOUT_US (1800 * US_PER_S)

int cli_etcd_status(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	const char *words[] = {"etcd", "status"};

	return cli_show(cli, DAEMON, words, ARRAY_SIZE(words), etcdwatch_render_status);
}

int cli_etcd_snapshot_list(const struct cli *cli, int argc, char **argv)
{
	const char *words[] = {"etcd", "snapshot", "list", argc > 0 ? argv[0] : NULL};

	return cli_show(cli, DAEMON, words, argc > 0 ? 4 : 3, etcdwatch_render_list);
}

int cli_etcd_snapshot_save(const struct cli *cli, int argc, char **argv)
{
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	const char *words[] = {"etcd", "snapshot", "save", argc > 0 ? argv[0] : NULL};
	int code = cli_ask(cli, DAEMON, words, argc > 0 ? 4 : 3, SAVE_TIMEOUT_US, &answer);

	if (code != CLI_OK)
		return code;
	if (cli->output == CLI_JSON)
		(void) fputs(answer->lines, stdout);
	else
		etcdwatch_render_list(stdout, answer->objects, wall_now_us());
	return CLI_OK;
}
