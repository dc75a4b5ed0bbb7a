/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Help, as the tables of commands and options have it. */

#include <stdbool.h>
#include <stdio.h>

#include "cli/commands.h"

/* The two lines that begin it: how it is called, and what it does. */
void help_usage(FILE *out, const struct cli_command *command);
void help_command(FILE *out, const struct cli_command *command);

/* Whether there are commands whose names go on behind these words; and they, with what they have in
 * common. */
bool help_is_group(const char *words);
void help_group(FILE *out, const char *words);

/* Of the whole program. */
void help_program(FILE *out);
