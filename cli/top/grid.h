/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A screen, or a piece of one, as cells: a character each, and what it means, from which whoever
 * shows it makes a colour. Pure. What is put outside of it is cut off; a character that would not
 * take one column, or could drive the terminal, becomes '?'.
 *
 * Small pictures in a grid, in eighths of a character, or of plain ASCII where the terminal has no
 * more. Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/macro.h"

enum grid_ink {
	GRID_PLAIN,
	GRID_DIM,
	GRID_STRONG,
	GRID_GOOD,
	GRID_WARNED,
	GRID_BAD,
	GRID_TITLE,
	GRID_CHOSEN, /* the title of what the keys act on */
};

struct grid_cell {
	uint32_t character; /* a code point */
	enum grid_ink ink;
};

struct grid;

/* Blank. */
struct grid *grid_new(size_t rows, size_t columns);
void grid_free(struct grid *grid);
DEFINE_AUTO(struct grid, grid_free);

size_t grid_rows(const struct grid *grid);
size_t grid_columns(const struct grid *grid);
/* Within the grid. */
const struct grid_cell *grid_at(const struct grid *grid, size_t row, size_t column);

/* A blank row at the end: its number. */
size_t grid_add_row(struct grid *grid);

/* Each returns the column behind what was put, also where that was cut off. */
size_t grid_put(struct grid *grid, size_t row, size_t column, enum grid_ink ink, const char *fmt,
                ...) PRINTF_LIKE(5, 6);
size_t grid_put_character(struct grid *grid, size_t row, size_t column, enum grid_ink ink,
                          uint32_t character);

/* Text from `column` on, in as many new rows as it takes, broken between words. */
void grid_add_text(struct grid *grid, size_t column, enum grid_ink ink, const char *text);

/* Rows [first, first + n) of another one, with this corner here. */
void grid_copy(struct grid *grid, size_t row, size_t column, const struct grid *from, size_t first,
               size_t n);
/* Everything in these rows and columns becomes dim: it is no longer so. */
void grid_dim(struct grid *grid, size_t row, size_t column, size_t rows, size_t columns);

/* A bar of `width` cells, of which `part` (0 to 1) is full: the column behind it. */
size_t graph_bar(struct grid *grid, size_t row, size_t column, size_t width, double part,
                 enum grid_ink ink, bool is_ascii);

/* The last `width` of n samples, each as high as it is in comparison with the highest of them; one
 * that is below 0 is a gap. They end at the right: the column behind it. */
size_t graph_spark(struct grid *grid, size_t row, size_t column, size_t width,
                   const double *samples, size_t n, enum grid_ink ink, bool is_ascii);
