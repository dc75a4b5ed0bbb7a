/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the conf_*.c files share: the inside of struct conf. Nobody else includes this.
 */

#include <stdarg.h>

#include "base/conf.h"

#define CONF_PATH_MAX 512

struct conf_problem {
	unsigned file, line, col;
	size_t seq; /* keeps the order of finding within one place */
	bool is_note;
	char *text;
};

struct conf {
	char **files; /* names, by conf_node.file */
	unsigned n_files;
	struct conf_node **nodes; /* owns every node of every tree, since trees share nodes */
	size_t n_nodes, cap_nodes;
	struct conf_node **documents;
	size_t n_documents;
	struct conf_problem *problems;
	size_t n_problems, cap_problems;
	size_t n_errors;
	size_t n_dropped; /* beyond CONF_PROBLEMS_MAX */
	char path[CONF_PATH_MAX];
	size_t path_len;
};

/* A place without a node. line 0: the file as a whole. */
struct conf_place {
	unsigned file, line, col;
};

void conf_error_at(struct conf *conf, struct conf_place place, const char *hint, const char *fmt,
                   ...) PRINTF_LIKE(4, 5);

/* A new node of the trees; its arrays are freed with it. */
struct conf_node *conf_node_new(struct conf *conf, enum conf_shape shape, struct conf_place place);
void conf_document_add(struct conf *conf, struct conf_node *root);

/* conf_tree.c: parses one file's text and adds its documents. */
void conf_tree_read(struct conf *conf, unsigned file, const char *text, size_t len);

/* conf_value.c: writes text with anything that a terminal might act on escaped, cut at max_bytes.
 */
void conf_write_visible(FILE *out, const char *text, size_t max_bytes);

/* conf_type.c: for lists and maps. One text where these belong, and perhaps a secret, is reported
 * without it. */
bool conf_is_secret_scalar(struct conf *conf, const struct conf_field *field,
                           const struct conf_node *value, const char *wanted);
/* Reports it if not. */
bool conf_length_is_good(struct conf *conf, const struct conf_field *field,
                         const struct conf_node *list);
/* "key:", of a list without items "key: []". */
void conf_print_list_key(const struct conf_field *field, size_t n, struct conf_printer *printer);
