/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The commands: tables of what each takes and what carries it out. One engine (commands.c) reads
 * the words, opens the store, runs the command and prints the last line (result.h).
 */

#include "etcdwatch/worker/common/options.h"
#include "etcdwatch/worker/source/source.h"
#include "etcdwatch/worker/store/s3target.h"
#include "etcdwatch/worker/store/storeowner.h"

/* What the words of every command begin with. */
struct words {
	struct options_list rest;
	struct s3target target;
	struct s3 *s3; /* or NULL; the engine's */
	struct storeowner owner;
	struct sourcewords source;
};

enum {
	COMMAND_URGENT = 1 << 0,  /* etcd itself waits for it, or what is wrong is to be told */
	COMMAND_TIMED = 1 << 1,   /* its last line has "took_ms" */
	COMMAND_SOURCE = 1 << 2,  /* the options of source.h */
	COMMAND_TARGET = 1 << 3,  /* those of s3target.h */
	COMMAND_OPENS = 1 << 4,   /* the store, if they name one */
	COMMAND_STORE = 1 << 5,   /* a store is needed, and opened */
	COMMAND_OWNER = 1 << 6,   /* the options of storeowner.h */
	COMMAND_CHECKS = 1 << 7,  /* whose the store is, before anything else */
	COMMAND_REMOVES = 1 << 8, /* objects from it */
};

struct command {
	const char *name; /* one word or two; NULL ends a table */
	unsigned flags;
	size_t min, max; /* of names behind the options */
	size_t size;     /* of its words, which are zeroed before; 0: struct words alone */
	const struct options_entry *options;
	size_t n_options;
	/* `ret_fields` are printed on failure too, if there are any. */
	int (*run)(void *words, struct problem *problem, json_t **ret_fields);
};

#define COMMAND_OPTIONS(entries) .options = (entries), .n_options = ARRAY_SIZE(entries)

extern const struct command prove_commands[], pack_commands[], source_commands[], s3_commands[],
    drill_commands[], restore_commands[], notify_commands[], rebuild_commands[], health_commands[],
    record_commands[];

/* argv as main() has it. Prints the last line, and returns the exit code. */
int commands_run(int argc, char **argv);
