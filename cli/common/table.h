/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Colours for the words that say how something is, and for nothing else: what is good, what wants a
 * look, what is bad. What goes to standard output has them, and only if that is a terminal, unless
 * somebody says otherwise.
 *
 * A table for people: a header, rows, columns as wide as their widest cell, two spaces between
 * them, nothing behind the last. Numbers are right-aligned so that they line up. What comes from a
 * daemon may hold anything, so control characters are shown as '?': a name must not drive the
 * terminal.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/macro.h"

enum color_when {
	COLOR_AUTO,
	COLOR_ALWAYS,
	COLOR_NEVER,
};

/* Whether there are to be colours. no_color is $NO_COLOR (https://no-color.org), term is $TERM;
 * each may be NULL. Pure. */
bool color_is_wanted(enum color_when when, bool is_terminal, const char *no_color,
                     const char *term);

/* Decides it for what is printed from now on; there are none before. */
void color_setup(enum color_when when);

/* Prints a state, with control characters as '?'; its first word has the colour that it has
 * everywhere, if it has one. */
void color_print_state(FILE *out, const char *state);

struct table;

enum table_align {
	TABLE_LEFT,
	TABLE_RIGHT,
	TABLE_STATE, /* left, and what it says of a state may have a colour */
};

struct table_column {
	const char *title;
	enum table_align align;
};

/* The columns are borrowed until table_free(). */
struct table *table_new(const struct table_column *columns, size_t n_columns);
void table_free(struct table *table);
DEFINE_AUTO(struct table, table_free);

/* Fills the next cell, row by row. */
void table_cell(struct table *table, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Cuts the cells of the last column so that no line is wider than `width`, if its title leaves that
 * much; what is cut ends in "...". Returns how wide a cell may be. */
size_t table_fit_last(struct table *table, size_t width);

/* The number of cells must be a whole number of rows. */
void table_print(const struct table *table, FILE *out);

/* How many characters a text is. */
size_t table_width(const char *text);

/* A line with the same care for control characters, also in `fmt`: one line. */
void table_line(FILE *out, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The same on standard error, behind "fairlead: ". Returns CLI_FAILED. */
int cli_fail(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* One line of text with the same care for control characters; no newline is added. */
void table_print_safe(FILE *out, const char *text);
