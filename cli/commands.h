/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What `fairlead` can do, as one const table: parsing, help and the completion of shells read it,
 * and nothing else says what there is. Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/common/cli.h"
#include "cli/options.h"

struct cli_command {
	const char *name;      /* one to three words */
	const char *arguments; /* as its usage shows them */
	const char *help;      /* one line */
	const char *more;      /* what else is to be known, in lines; or NULL */
	const char *exits;     /* the exit codes, where they mean more than elsewhere; or NULL */
	int min_words, max_words;
	uint64_t takes;               /* CLI_TAKES() of common options, or'ed */
	const struct cli_option *own; /* its own options, up to one without a name; or NULL */
	const char *completes;        /* what its words are: as for an option's value */
	cli_command_fn fn;            /* NULL: `daemon` is asked, and `render` prints the answer */
	cli_waits_fn waits;           /* NULL: it answers at once */
	const char *daemon;
	cli_render_fn render;
	cli_code_fn code; /* NULL: every answer is good */
};

/* For `takes`: what it prints is a format of its own, so it has no -o. */
#define CLI_OWN_FORMAT (UINT64_C(1) << 63)
/* The same: it only reads, so --nodes may run it on several nodes at the same time; or it does with
 * --nodes what it does on several nodes, by itself. */
#define CLI_READS (UINT64_C(1) << 62)
#define CLI_OWN_NODES (UINT64_C(1) << 61)

/* Whether it takes the common option with this index. */
bool cli_command_takes(const struct cli_command *command, size_t common);

extern const struct cli_command cli_commands[];
extern const size_t cli_commands_n;

/* What several commands have in common whose names begin alike. */
struct cli_group {
	const char *name;
	const char *help;
};

extern const struct cli_group cli_groups[];
extern const size_t cli_groups_n;
