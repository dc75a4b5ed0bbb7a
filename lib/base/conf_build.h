/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Builds the trees of one file from what its reader (conf_tree.c) finds, in its order: nodes in
 * lists and maps, aliases, merge keys, documents; with the limits of a file. Knows no YAML.
 *
 * A mistake in the tree (a duplicate key) is reported here and the rest goes on. -errno: a limit is
 * passed or an alias leads nowhere, which is reported too and ends the file.
 */

#include "base/cleanup.h"
#include "base/conf_priv.h"

struct conf_builder;

/* conf is borrowed, and owns the nodes. */
struct conf_builder *conf_build_new(struct conf *conf);
void conf_build_free(struct conf_builder *b);
DEFINE_AUTO(struct conf_builder, conf_build_free);

/* Before a node or an alias is made, so that no weight can overflow. */
int conf_build_count(struct conf_builder *b, struct conf_place place, size_t weight);
/* One that has been counted; borrowed, as conf_node_new() made it. anchor: its name, or NULL. */
int conf_build_scalar(struct conf_builder *b, struct conf_place place, const char *anchor,
                      struct conf_node *node);
int conf_build_alias(struct conf_builder *b, struct conf_place place, const char *name);
/* Begins a list or a map, and counts it; then, at once, the name of its anchor, or NULL. */
int conf_build_open(struct conf_builder *b, struct conf_place place, enum conf_shape shape);
int conf_build_anchor(struct conf_builder *b, struct conf_place place, const char *name);
/* The list or map that was begun last. */
int conf_build_close(struct conf_builder *b);
/* Adds the document to the configuration, if there is anything in it. */
int conf_build_document_end(struct conf_builder *b);
