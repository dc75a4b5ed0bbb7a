/* SPDX-License-Identifier: Apache-2.0 */
/* Cells in one array, row after row; and bars and curves in them. */
#include "cli/top/grid.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct grid {
	size_t rows, columns;
	struct grid_cell *cells;
};

static void blank(struct grid *grid, size_t from_row)
{
	for (size_t i = from_row * grid->columns; i < grid->rows * grid->columns; i++)
		grid->cells[i] = (struct grid_cell){.character = ' ', .ink = GRID_PLAIN};
}

struct grid *grid_new(size_t rows, size_t columns)
{
	struct grid *grid = NEW0(struct grid);

	grid->rows = rows;
	grid->columns = columns;
	grid->cells = xcalloc(rows * columns + 1, sizeof(*grid->cells));
	blank(grid, 0);
	return grid;
}

void grid_free(struct grid *grid)
{
	if (grid == NULL)
		return;
	free(grid->cells);
	free(grid);
}

size_t grid_rows(const struct grid *grid)
{
	return grid->rows;
}

size_t grid_columns(const struct grid *grid)
{
	return grid->columns;
}

const struct grid_cell *grid_at(const struct grid *grid, size_t row, size_t column)
{
	assert(row < grid->rows && column < grid->columns);
	return &grid->cells[row * grid->columns + column];
}

size_t grid_add_row(struct grid *grid)
{
	grid->cells =
	    xreallocarray(grid->cells, (grid->rows + 1) * grid->columns + 1, sizeof(*grid->cells));
	grid->rows++;
	blank(grid, grid->rows - 1);
	return grid->rows - 1;
}

/* --- text --- */

/* What follows may join what is before it, or be two columns wide. */
#define FIRST_COMBINING 0x300

/* The next code point of UTF-8; what is none is a '?' of one byte. */
static uint32_t next_character(const char **text)
{
	const unsigned char *p = (const unsigned char *) *text;
	size_t more = p[0] >= 0xf0 ? 3 : p[0] >= 0xe0 ? 2 : p[0] >= 0xc0 ? 1 : 0;
	uint32_t c = more == 0 ? p[0] : p[0] & (0x3fU >> more);

	for (size_t i = 1; i <= more; i++) {
		if ((p[i] & 0xc0) != 0x80) {
			(*text)++;
			return '?';
		}
		c = (c << 6) | (p[i] & 0x3f);
	}
	*text += more + 1;
	if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c >= FIRST_COMBINING || (more == 0 && c >= 0x80))
		return '?';
	return c;
}

size_t grid_put_character(struct grid *grid, size_t row, size_t column, enum grid_ink ink,
                          uint32_t character)
{
	if (row < grid->rows && column < grid->columns)
		grid->cells[row * grid->columns + column] =
		    (struct grid_cell){.character = character, .ink = ink};
	return column + 1;
}

size_t grid_put(struct grid *grid, size_t row, size_t column, enum grid_ink ink, const char *fmt,
                ...)
{
	AUTO(free) char *text = NULL;
	const char *p;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	for (p = text; *p != '\0';)
		column = grid_put_character(grid, row, column, ink, next_character(&p));
	return column;
}

static size_t characters(const char *word)
{
	size_t n = 0;

	while (*word != '\0') {
		(void) next_character(&word);
		n++;
	}
	return n;
}

void grid_add_text(struct grid *grid, size_t column, enum grid_ink ink, const char *text)
{
	AUTO(free) char *words = xstrdup(text);
	size_t row = grid_add_row(grid), at = column;
	char *rest = NULL;

	for (char *word = strtok_r(words, " \n", &rest); word != NULL;
	     word = strtok_r(NULL, " \n", &rest)) {
		if (at > column && at + 1 + characters(word) > grid->columns) {
			row = grid_add_row(grid);
			at = column;
		}
		at = grid_put(grid, row, at, ink, "%s%s", at > column ? " " : "", word);
	}
}

/* --- pieces --- */

void grid_copy(struct grid *grid, size_t row, size_t column, const struct grid *from, size_t first,
               size_t n)
{
	for (size_t i = 0; i < n && first + i < from->rows; i++) {
		for (size_t k = 0; k < from->columns; k++) {
			const struct grid_cell *cell = grid_at(from, first + i, k);

			(void) grid_put_character(grid, row + i, column + k, cell->ink, cell->character);
		}
	}
}

void grid_dim(struct grid *grid, size_t row, size_t column, size_t rows, size_t columns)
{
	for (size_t i = row; i < MIN(row + rows, grid->rows); i++) {
		for (size_t k = column; k < MIN(column + columns, grid->columns); k++)
			grid->cells[i * grid->columns + k].ink = GRID_DIM;
	}
}

/* --- bars and curves --- */

/*
 * Block elements of Unicode: U+2581 to U+2588 grow from below, U+258F to U+2588 from the left.
 */

#define EIGHTHS 8
#define FULL_BLOCK 0x2588
#define LOWER_EIGHTH 0x2581
#define LIGHT_SHADE 0x2591

static const char ascii_heights[EIGHTHS + 1] = "_.:-=+*#";

size_t graph_bar(struct grid *grid, size_t row, size_t column, size_t width, double part,
                 enum grid_ink ink, bool is_ascii)
{
	double bounded = part < 0 ? 0 : part > 1 ? 1 : part;
	size_t eighths = (size_t) (bounded * (double) (width * EIGHTHS) + 0.5);

	for (size_t i = 0; i < width; i++) {
		size_t filled = eighths > i * EIGHTHS ? MIN(eighths - i * EIGHTHS, EIGHTHS) : 0;

		if (is_ascii)
			column = grid_put_character(grid, row, column, filled >= EIGHTHS / 2 ? ink : GRID_DIM,
			                            filled >= EIGHTHS / 2 ? '#' : '-');
		else if (filled == 0)
			column = grid_put_character(grid, row, column, GRID_DIM, LIGHT_SHADE);
		else
			column = grid_put_character(grid, row, column, ink,
			                            FULL_BLOCK + EIGHTHS - (uint32_t) filled);
	}
	return column;
}

static void put_sample(struct grid *grid, size_t row, size_t column, double part, enum grid_ink ink,
                       bool is_ascii)
{
	size_t step = MIN((size_t) (part * EIGHTHS), EIGHTHS - 1);

	(void) grid_put_character(grid, row, column, ink,
	                          is_ascii ? (uint32_t) ascii_heights[step]
	                                   : LOWER_EIGHTH + (uint32_t) step);
}

size_t graph_spark(struct grid *grid, size_t row, size_t column, size_t width,
                   const double *samples, size_t n, enum grid_ink ink, bool is_ascii)
{
	size_t shown = MIN(n, width);
	double highest = 0;

	for (size_t i = n - shown; i < n; i++)
		highest = MAX(highest, samples[i]);
	for (size_t i = 0; i < shown; i++) {
		double sample = samples[n - shown + i];

		if (sample >= 0 && highest > 0)
			put_sample(grid, row, column + width - shown + i, sample / highest, ink, is_ascii);
	}
	return column + width;
}
