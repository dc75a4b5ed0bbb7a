/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The files of a node, below a root: "/" or where an image is mounted. Paths are those of the node.
 */

#include <stdbool.h>

#include "base/conf.h"
#include "cli/common/texts.h"

/* The path as this process finds it; to be freed. */
char *initfiles_at(const char *root, const char *path);
bool initfiles_exist(const char *root, const char *path);
/* This user may not see whether it is there. */
bool initfiles_is_hidden(const char *root, const char *path);

/* A small file; NULL: it is not there, or this user may not read it. To be freed. */
char *initfiles_text(const char *root, const char *path);

/* A YAML file of somebody else's: its first document, which lives as long as *ret_conf, or NULL. */
const struct conf_node *initfiles_yaml(const char *root, const char *path, struct conf **ret_conf);

/* A node behind keys, "spec", "containers"; "0" is the first item of a list. Ends with NULL. */
const struct conf_node *initfiles_find(const struct conf_node *node, ...) __attribute__((sentinel));

/* Names in a directory that end so, sorted; "" is any. */
void initfiles_list(const char *root, const char *directory, const char *end,
                    struct texts *ret_names);
