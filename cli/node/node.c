/* SPDX-License-Identifier: Apache-2.0 */
/* `fairlead metrics DAEMON`: the page a scraper would get. `fairlead version`. */
#include "cli/common/cli.h"

#include <stdio.h>
#include <string.h>

#include "base/hint.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/table.h"

#define TIMEOUT_US (5 * US_PER_S)

static const char *const daemons[] = {"vipd", "prism", "etcdwatch", "netconf"};

static bool is_daemon(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(daemons); i++) {
		if (strcmp(name, daemons[i]) == 0)
			return true;
	}
	return false;
}

/* What no scraper can say. null: there is none. */
static void tell_of_port(const char *daemon, const json_t *port)
{
	const char *listen = json_string_value(json_object_get(port, "listen"));
	const char *error = json_string_value(json_object_get(port, "error"));

	if (listen != NULL && error != NULL)
		(void) fprintf(stderr, "fairlead: the port of %s for metrics, %s, is not open: %s\n",
		               daemon, listen, error);
}

/* Its lines stay lines; what labels are made of may be anybody's. */
static void print_text(const char *text)
{
	AUTO(free) char *copy = xstrdup(text);
	char *rest = copy;

	while (*rest != '\0') {
		char *line = strsep(&rest, "\n");

		table_print_safe(stdout, line);
		if (rest == NULL)
			break;
		(void) fputc('\n', stdout);
	}
}

int cli_metrics(const struct cli *cli, int argc UNUSED, char **argv)
{
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	const char *words[] = {"metrics"};
	const char *text;
	int code;

	if (!is_daemon(argv[0])) {
		const char *nearest = hint_nearest(argv[0], daemons, ARRAY_SIZE(daemons));

		if (nearest != NULL)
			(void) fprintf(stderr, "fairlead: no daemon '%s': did you mean '%s'?\n", argv[0],
			               nearest);
		else
			(void) fprintf(stderr,
			               "fairlead: no daemon '%s': there are 'vipd', 'prism', 'etcdwatch' and "
			               "'netconf'\n",
			               argv[0]);
		return CLI_USAGE;
	}
	code = cli_ask(cli, argv[0], words, ARRAY_SIZE(words), TIMEOUT_US, &answer);
	if (code != CLI_OK)
		return code;
	tell_of_port(argv[0], json_object_get(json_array_get(answer->objects, 0), "port"));
	text = json_string_value(json_object_get(json_array_get(answer->objects, 0), "metrics"));
	if (cli->output != CLI_TABLE)
		cli_print_answer(cli, answer);
	else
		print_text(text != NULL ? text : "");
	return CLI_OK;
}

/* --- version --- */

/* As --version, and also as JSON and on several nodes. */
int cli_version(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	json_t *object;

	if (cli->output == CLI_TABLE) {
		(void) puts("fairlead " FAIRLEAD_VERSION);
		return CLI_OK;
	}
	object = json_pack("{s:s}", "version", FAIRLEAD_VERSION);
	cli_print(cli, object);
	json_decref(object);
	return CLI_OK;
}
