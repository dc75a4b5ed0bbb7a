/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/common/snapshotoptions.h"

void snapshotoptions_fini(struct snapshotoptions *options)
{
	texts_fini(&options->identities);
	texts_fini(&options->trusted);
	texts_fini(&options->s3);
}

int snapshotoptions_set_list(void *into, const struct cli_option *option, const char *value)
{
	texts_add((struct texts *) (void *) ((char *) into + option->offset), "%s", value);
	return CLI_OK;
}

/* To the worker as it is. */
int snapshotoptions_set_s3(void *into, const struct cli_option *option, const char *value)
{
	struct snapshotoptions *o = into;

	texts_add(&o->s3, "--%s", option->name);
	if (value != NULL)
		texts_add(&o->s3, "%s", value);
	return CLI_OK;
}

const struct cli_option cli_etcd_snapshot_options[] = {SNAPSHOTOPTIONS_ROWS, {0}};
