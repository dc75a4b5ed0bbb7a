/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The scripts by which shells complete the command line: made of the table of commands, so that
 * there is nothing to keep in step. A script knows three things of what has been typed: which words
 * may follow, which options there are, and what the value of an option or a word may be.
 */

#include <stdio.h>

#include "cli/commands.h"
#include "cli/common/texts.h"

void shells_bash(FILE *out);
void shells_zsh(FILE *out);

/* --- for the two --- */

/* Each beginning of a command's name once, with "" first: "etcd", "etcd snapshot", ... */
void shells_beginnings(struct texts *ret);

/* The words that may follow a beginning; "" if it is a whole command. */
void shells_next(const char *beginning, struct texts *ret);

/* Whether help says of this command that it has the option. */
bool shells_has(const struct cli_command *command, size_t common);

/* Between what follows a beginning and the values of options. */
extern const char shells_middle[];

/* Arms of a `case` over COMMAND/OPTION: what the value of each may be that takes one. Both shells
 * have them alike. */
void shells_values(FILE *out);

/* In single quotes, in which a shell looks at nothing else. At most up to the end of the line. */
void shells_quote(FILE *out, const char *text);
