/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that show the cluster: etcdwatch is asked, and the answer printed. */
#include "cli/common/cli.h"

#include "base/macro.h"
#include "cli/etcd/cluster_render.h"

#define DAEMON "etcdwatch"

int cli_etcd_members(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	const char *words[] = {"etcd", "members"};

	return cli_show(cli, DAEMON, words, ARRAY_SIZE(words), cluster_render_members);
}

int cli_etcd_status(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	const char *words[] = {"etcd", "status"};

	return cli_show(cli, DAEMON, words, ARRAY_SIZE(words), cluster_render_status);
}

int cli_etcd_alarms(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	const char *words[] = {"etcd", "alarms"};

	return cli_show(cli, DAEMON, words, ARRAY_SIZE(words), cluster_render_alarms);
}
