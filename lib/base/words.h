/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A line of words, as the control sockets speak it: split by the server, joined by the client.
 * Words are separated by spaces. One that is empty or holds a space, a quote or a backslash stands
 * in double quotes, with \" and \\ inside; there is no other escape. Control characters are refused
 * everywhere: a line is a line.
 */

#include <stddef.h>

/*
 * Splits in place: argv[0..n) point into `line`. The number of words (0 for an empty line);
 * -E2BIG when there are more than max; -EINVAL when a quote is open, misplaced, or followed by
 * something else than a space, for an unknown escape, and for a control character.
 */
int words_split(char *line, char **argv, size_t max);

/* The line that splits into these words; the caller frees. -EINVAL for a control character. */
int words_join(const char *const *words, size_t n, char **ret_line);

/* --- names of commands, of one to three words ("vip status"), among the words that were typed: for
 * the tables of the control sockets and of the CLI --- */

#define CMDNAME_WORDS_MAX 3
#define CMDNAME_TEXT_MAX 64

/* How many of argv the name's own words cover; 0 when argv does not begin with the name. */
int cmdname_match(const char *name, int argc, char *const *argv);

/* What was typed, as far as it can be a name: its first words, cut at the size of the buffer. */
const char *cmdname_typed(int argc, char *const *argv, char buf[static CMDNAME_TEXT_MAX]);

/* The name that the first words most resemble; NULL when none does. */
const char *cmdname_nearest(int argc, char *const *argv, const char *const *names, size_t n);
