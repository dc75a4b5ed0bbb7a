/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Commands whose names are one to three words ("vip status"), looked up among the words that
 * somebody typed. The control sockets and the CLI both have a table of them. Pure.
 */

#include <stddef.h>

#define CMDNAME_WORDS_MAX 3
#define CMDNAME_TEXT_MAX 64

/* How many of argv the name's own words cover; 0 when argv does not begin with the name. */
int cmdname_match(const char *name, int argc, char *const *argv);

/* What was typed, as far as it can be a name: its first words, cut at the size of the buffer. */
const char *cmdname_typed(int argc, char *const *argv, char buf[static CMDNAME_TEXT_MAX]);

/* The name that the first words most resemble; NULL when none does. */
const char *cmdname_nearest(int argc, char *const *argv, const char *const *names, size_t n);
