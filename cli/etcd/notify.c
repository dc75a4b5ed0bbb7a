/* SPDX-License-Identifier: Apache-2.0 */
/* `etcd notify`: the webhook that is told of findings. */
#include "cli/common/cli.h"

#include "base/macro.h"
#include "base/mono.h"
#include "cli/etcd/notify_render.h"

/* The longest that is configured, and more. */
#define TEST_TIMEOUT_US (150 * US_PER_S)

int cli_etcd_notify_status(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	const char *words[] = {"etcd", "notify", "status"};

	return cli_show(cli, "etcdwatch", words, ARRAY_SIZE(words), notify_render_status);
}

int cli_etcd_notify_test(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	const char *words[] = {"etcd", "notify", "test"};
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	int code = cli_ask(cli, "etcdwatch", words, ARRAY_SIZE(words), TEST_TIMEOUT_US, &answer);

	if (code != CLI_OK)
		return code;
	if (cli->output != CLI_TABLE)
		cli_print_answer(cli, answer);
	else
		notify_render_test(stdout, answer->objects, wall_now_us());
	return code;
}
