/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What `fairlead` can do, as const tables of commands and of the options that several of them have in
 * common: parsing, help and the completion of shells read them, and nothing else says what there is.
 * Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/common/cli.h"

/* Indices of cli_common_options. The first ones are taken by every command. */
enum cli_common {
	CLI_OPTION_OUTPUT,
	CLI_OPTION_RUNTIME_DIR,
	CLI_OPTION_COLOR,
	CLI_OPTION_NODES,
	CLI_OPTION_VIA,
	CLI_OPTION_HELP,
	CLI_OPTION_VERSION,
	CLI_N_GLOBAL,
	CLI_OPTION_WATCH = CLI_N_GLOBAL,
	CLI_OPTION_NO_DIGEST,
	CLI_OPTION_REVISION,
	CLI_OPTION_PREFIX,
	CLI_OPTION_DEPTH,
	CLI_OPTION_LOCAL,
	CLI_OPTION_TARGET,
	CLI_OPTION_CONFIRM_WITHIN,
	CLI_OPTION_EVEN_WITHOUT_QUORUM,
	CLI_OPTION_FORCE,
	CLI_OPTION_DRY_RUN,
	CLI_OPTION_YES,
	CLI_OPTION_ALL,
	CLI_OPTION_CORRUPT_TOO,
	CLI_OPTION_UNCHECKED,
	CLI_N_COMMON,
};

extern const struct cli_option cli_common_options[CLI_N_COMMON];

#define CLI_TAKES(common) (UINT64_C(1) << CLI_OPTION_##common)

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

/* Whether it takes the common option with this index, and has none of its own of that name. */
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
