/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Options of commands: those that several have in common, which are fields of struct cli, and how
 * the value of any option gets where it belongs.
 */

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
