/* SPDX-License-Identifier: Apache-2.0 */
/* `etcd drill`: what is under way is shown as it goes on, on standard error, so that the output is
 * what was found. */
#include "cli/cli.h"

#include "base/mono.h"
#include "cli/drill_render.h"

#define DAEMON "etcdwatch"
/* The longest that a job's drill may take, and the snapshot that it may have to wait for. */
#define TIMEOUT_US (25 * 3600 * US_PER_S)

static void show(const json_t *object, void *userdata)
{
	const struct cli *cli = userdata;

	if (cli->output == CLI_JSON) {
		(void) json_dumpf(object, stdout, JSON_COMPACT);
		(void) putchar('\n');
		(void) fflush(stdout);
		return;
	}
	drill_render_phase(stderr, object);
	drill_render_result(stdout, object);
}

int cli_etcd_drill(const struct cli *cli, int argc, char **argv)
{
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	const char *words[] = {"etcd", "drill", argc > 0 ? argv[0] : NULL};
	struct cli copy = *cli;

	return cli_ask_each(cli, DAEMON, words, argc > 0 ? 3 : 2, TIMEOUT_US, show, &copy, &answer);
}
