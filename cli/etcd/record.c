/* SPDX-License-Identifier: Apache-2.0 */
/* `etcd record status`: how far what happens in etcd is recorded on this node. */
#include "cli/common/cli.h"

#include "base/macro.h"
#include "cli/common/fields.h"
#include "cli/etcd/record_render.h"

static int code_of(const json_t *objects)
{
	const json_t *status = json_array_get(objects, 0);

	return field_text(status, "error") == NULL ? CLI_OK : CLI_FAILED;
}

int cli_etcd_record_status(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	const char *words[] = {"etcd", "record", "status"};

	return cli_show_coded(cli, "etcdwatch", words, ARRAY_SIZE(words), record_render, code_of);
}
