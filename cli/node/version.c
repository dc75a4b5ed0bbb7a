/* SPDX-License-Identifier: Apache-2.0 */
/* `fairlead version`: as --version, and also as JSON and on several nodes. */
#include "cli/common/cli.h"

#include "base/macro.h"

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
