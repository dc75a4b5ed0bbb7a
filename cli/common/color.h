/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Colours for the words that say how something is, and for nothing else: what is good, what wants a
 * look, what is bad. What goes to standard output has them, and only if that is a terminal, unless
 * somebody says otherwise.
 */

#include <stdbool.h>
#include <stdio.h>

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
