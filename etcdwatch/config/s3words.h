/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the worker is told to do with a target: `etcdwatch-worker s3 ...`. Words are borrowed.
 */

#include <stdbool.h>
#include <stddef.h>

#include "etcdwatch/config/config.h"
#include "etcdwatch/work/child.h"

struct s3words {
	const char *argv[CHILD_ARGS_MAX + 1]; /* ends with NULL */
	size_t n;
	bool only_words;
};

/* Any command of the worker; with the options of a target. */
void s3words_start(struct s3words *words, const char *worker, const char *command);
void s3words_target(struct s3words *words, const struct config_target *target);

/* That nothing is done where another cluster's objects are (worker/storeowner.h). */
void s3words_owner(struct s3words *words, const struct config_target *target);

/* "put", "list", "rm", with both; then its own options with s3words_option(),
 * and then its words with s3words_add(), of which none is taken for an option. */
void s3words_begin(struct s3words *words, const char *worker, const char *subcommand,
                   const struct config_target *target);
void s3words_option(struct s3words *words, const char *name, const char *value); /* NULL: none */
/* Both, or with NULL neither. */
void s3words_option_if_set(struct s3words *words, const char *name, const char *value);
void s3words_add(struct s3words *words, const char *word);
