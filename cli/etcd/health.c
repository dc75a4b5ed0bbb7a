/* SPDX-License-Identifier: Apache-2.0 */
/* `etcd health`: what the watchdog has found, and an exit code for scripts. */
#include "cli/common/cli.h"

#include <string.h>

#include "base/macro.h"
#include "cli/common/fields.h"
#include "cli/etcd/health_render.h"

static int code_of(const json_t *objects)
{
	const char *status = field_text(json_array_get(objects, 0), "status");

	if (status == NULL)
		return CLI_FAILED;
	if (strcmp(status, "ok") == 0)
		return CLI_OK;
	return strcmp(status, "warning") == 0 ? CLI_WARNED : CLI_FAILED;
}

int cli_etcd_health(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	const char *words[] = {"etcd", "health"};

	return cli_show_coded(cli, "etcdwatch", words, ARRAY_SIZE(words), health_render, code_of);
}
