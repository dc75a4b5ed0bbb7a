/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that talk to vipd: a question, and the answer as it is (-o json) or for people. */
#include "cli/common/cli.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/table.h"
#include "cli/common/worker.h"
#include "cli/vip/vip_render.h"

#define DAEMON "vipd"
#define TIMEOUT_US (5 * US_PER_S)
/* A move waits until somebody else owns the VIP; vipd gives up before this. */
#define MOVE_TIMEOUT_US (15 * US_PER_S)

int cli_vip_status(const struct cli *cli, int argc, char **argv)
{
	const char *words[] = {"vip", "status", argc > 0 ? argv[0] : NULL};

	return cli_show(cli, DAEMON, words, argc > 0 ? 3 : 2, vip_render_status);
}

/* --- vip move, hold, unhold --- */

/* "10.0.0.5: n2 owns it now, after 85 ms" */
static void print_move(const char *vip, const char *owner, const json_t *duration_ms)
{
	table_print_safe(stdout, vip);
	(void) fputs(": ", stdout);
	table_print_safe(stdout, owner);
	(void) fputs(" owns it now", stdout);
	if (json_is_number(duration_ms))
		(void) printf(", after %.0f ms", json_number_value(duration_ms));
	(void) putchar('\n');
}

/* `to` is NULL when any node would do. A move that ended at another one is no success. */
static int conclude_move(const struct cli *cli, const struct client_answer *answer, const char *vip,
                         const char *to)
{
	const json_t *object = json_array_get(answer->objects, 0);
	const char *owner = json_string_value(json_object_get(object, "owner"));

	if (cli->output != CLI_TABLE)
		cli_print_answer(cli, answer);
	else
		print_move(vip, owner != NULL ? owner : "another node",
		           json_object_get(object, "duration_ms"));
	if (to == NULL || (owner != NULL && strcmp(owner, to) == 0))
		return CLI_OK;
	(void) fprintf(stderr,
	               "fairlead: that is not '%s', which did not take it: see 'fairlead vip status'\n",
	               to);
	return CLI_FAILED;
}

int cli_vip_move(const struct cli *cli, int argc, char **argv)
{
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	const char *words[] = {"vip", "move", argv[0], "to", argc == 3 ? argv[2] : NULL};
	int code;

	if (argc == 2 || (argc == 3 && strcmp(argv[1], "to") != 0)) {
		(void) fprintf(stderr, "fairlead: a node stands behind 'to': fairlead vip move %s to %s\n",
		               argv[0], argv[argc - 1]);
		return CLI_USAGE;
	}
	code = cli_ask(cli, DAEMON, words, argc == 3 ? 5 : 3, MOVE_TIMEOUT_US, &answer);
	if (code != CLI_OK)
		return code;
	return conclude_move(cli, answer, argv[0], argc == 3 ? argv[2] : NULL);
}

static int set_hold(const struct cli *cli, const char *word, const char *done)
{
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	const char *words[] = {"vip", word};
	int code = cli_ask(cli, DAEMON, words, ARRAY_SIZE(words), TIMEOUT_US, &answer);

	if (code != CLI_OK)
		return code;
	if (cli->output != CLI_TABLE)
		cli_print_answer(cli, answer);
	else
		(void) puts(done);
	return CLI_OK;
}

int cli_vip_hold(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	return set_hold(
	    cli, "hold",
	    "on hold: this node takes no VIP, and hands over those it owns when another can "
	    "take them");
}

int cli_vip_unhold(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	return set_hold(cli, "unhold", "no longer on hold: this node may own VIPs again");
}

/* vipd's own program does it: its daemon cannot be asked, and this one knows nothing of nftables.
 */
int cli_vip_ungate(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	AUTO(free) char *installed = xasprintf("%s/" DAEMON, cli->runtime_dir);
	struct texts words = {0};
	int code;

	texts_add(&words, "--ungate");
	/* systemd/tmpfiles.d/fairlead.conf: the socket is a symbolic link into vipd's own directory. */
	texts_add_option(&words, "--runtime-dir",
	                 access(installed, F_OK) == 0 ? installed : cli->runtime_dir);
	if (cli->yes)
		texts_add(&words, "--yes");
	code = worker_become(DAEMON, &words);
	texts_fini(&words);
	return code;
}
