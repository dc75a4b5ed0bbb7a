/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The words of a command: options from tables, and the rest. Values are borrowed from argv.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "etcdwatch/worker/common/result.h"

/* How often one option may be given. */
#define OPTIONS_LIST_MAX 256

struct options_list {
	const char *values[OPTIONS_LIST_MAX];
	size_t n;
};

enum options_kind {
	OPTIONS_TEXT,   /* takes a value, once; the member is a const char * */
	OPTIONS_LIST,   /* takes a value, any number of times; struct options_list */
	OPTIONS_FLAG,   /* takes none; bool */
	OPTIONS_NUMBER, /* takes a whole number, once; int64_t */
};

/* One option, and the member of a struct that gets its value. */
struct options_entry {
	const char *name; /* "--level" */
	enum options_kind kind;
	size_t at;        /* of the member */
	int64_t min, max; /* of a number */
	int64_t initial;  /* without the option */
};

#define OPTION(name, kind, type, member)                        \
	{                                                           \
		(name), OPTIONS_##kind, offsetof(type, member), 0, 0, 0 \
	}
#define OPTION_NUMBER(name, type, member, min, max, initial)                    \
	{                                                                           \
		(name), OPTIONS_NUMBER, offsetof(type, member), (min), (max), (initial) \
	}

/* A table, and the struct that it fills. */
struct options_table {
	const struct options_entry *entries;
	size_t n;
	void *base;
};

/*
 * What is no option goes to `rest`, of which there must be at least min and at most max. The first
 * word is the command's own name and passed over. All but numbers is zeroed by the caller.
 */
int options_parse(int argc, char **argv, const struct options_table *tables, size_t n_tables,
                  size_t min, size_t max, struct options_list *ret_rest, struct problem *problem);
