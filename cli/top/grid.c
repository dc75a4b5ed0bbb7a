/* SPDX-License-Identifier: Apache-2.0 */
/* Cells in one array, row after row. */
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
