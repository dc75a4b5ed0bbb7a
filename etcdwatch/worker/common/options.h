/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The words of a subcommand: options from a table, and the rest. Values are borrowed from argv.
 */

#include <stdbool.h>
#include <stddef.h>

#include "etcdwatch/worker/common/result.h"

/* How often one option may be given. */
#define OPTIONS_LIST_MAX 256

struct options_list {
	const char *values[OPTIONS_LIST_MAX];
	size_t n;
};

/* One option; exactly one of the three says what it is. */
struct options_entry {
	const char *name;          /* "--level" */
	const char **text;         /* takes a value, once */
	struct options_list *list; /* takes a value, any number of times */
	bool *flag;                /* takes none */
};

/*
 * What is no option goes to `rest`, of which there must be at least min and at most max. The first
 * word is the command's own name and passed over.
 */
int options_parse(int argc, char **argv, const struct options_entry *entries, size_t n_entries,
                  size_t min, size_t max, struct options_list *ret_rest, struct problem *problem);

/* A whole number between the two. */
int options_number(const char *name, const char *text, unsigned long min, unsigned long max,
                   unsigned long *ret_number, struct problem *problem);
