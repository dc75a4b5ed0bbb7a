/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The nodes that `--nodes LIST` means: names, groups of the file of groups, and "all", which are
 * the members of etcd and the nodes of vipd's race, as the daemons of this node know them, unless a
 * group has that name.
 */

#include "cli/common/cli.h"
#include "cli/common/texts.h"

/*
 * A file of groups: lines of "GROUP: NAME NAME ...", empty lines, and comments behind '#'. Adds to
 * `errors` a line "FILE:LINE: what is wrong: 'word'" for each error.
 */
struct nodelist_group {
	char *name;
	struct texts nodes;
};

struct nodelist_groups {
	struct nodelist_group *groups;
	size_t n;
};

void nodelist_parse_groups(const char *text, const char *file, struct nodelist_groups *ret,
                           struct texts *errors);
void nodelist_groups_fini(struct nodelist_groups *groups);

/* $XDG_CONFIG_HOME/fairlead/nodes, else ~/.config/fairlead/nodes; to be freed. NULL: no home. */
char *nodelist_file(void);

/* Resolves cli->nodes: each node once, in the order of the list. CLI_OK; or it says on standard
 * error what is wrong, and returns the exit code for it. */
int nodelist_resolve(const struct cli *cli, struct texts *ret_nodes);
