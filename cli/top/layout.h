/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The whole screen for what is known and what the keys have chosen. Pure: rows and columns to a
 * grid of cells.
 */

#include "cli/top/panels.h"

#define LAYOUT_ROWS_MIN 15
#define LAYOUT_COLUMNS_MIN 60

struct layout {
	enum panel chosen;
	bool has_details; /* the chosen panel has the screen for itself */
	bool has_help;
	bool is_paused;
	bool is_ascii; /* the terminal has no more */
	size_t scroll; /* rows of the details that are above the screen */
};

/* The caller owns it. It also sets `scroll` to no more than there is. */
struct grid *layout_draw(struct layout *layout, const struct model *model, size_t rows,
                         size_t columns, int64_t now_us, int64_t wall_us);
