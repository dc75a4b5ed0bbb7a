/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The terminal, by ncurses: the one file that knows it. A screen takes the terminal when it is made
 * and gives it back as it was when it is freed.
 */

#include <stdbool.h>

#include "cli/top/grid.h"

struct screen;

enum screen_key {
	SCREEN_NONE, /* nothing more was typed */
	SCREEN_OTHER,
	SCREEN_QUIT,
	SCREEN_NEXT,
	SCREEN_BEFORE,
	SCREEN_UP,
	SCREEN_DOWN,
	SCREEN_PAGE_UP,
	SCREEN_PAGE_DOWN,
	SCREEN_HOME,
	SCREEN_END,
	SCREEN_ENTER,
	SCREEN_BACK,
	SCREEN_PAUSE,
	SCREEN_REDRAW,
	SCREEN_HELP,
};

/* -EOPNOTSUPP when the terminal is not known, or cannot do it. */
int screen_new(bool has_colours, struct screen **ret_screen);
void screen_free(struct screen *screen);
DEFINE_AUTO(struct screen, screen_free);

/* It shows no more than ASCII. */
bool screen_is_ascii(const struct screen *screen);
/* As it is now; the window may have become another size. */
void screen_size(struct screen *screen, size_t *ret_rows, size_t *ret_columns);
void screen_show(struct screen *screen, const struct grid *grid);
/* Everything anew with the next one, whatever may be on it. */
void screen_redraw(struct screen *screen);

/* What was typed, one after the other; never waits. */
enum screen_key screen_key(struct screen *screen);
