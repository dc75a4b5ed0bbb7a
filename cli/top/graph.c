/* SPDX-License-Identifier: Apache-2.0 */
/* Block elements of Unicode: U+2581 to U+2588 grow from below, U+258F to U+2588 from the left. */
#include "cli/top/graph.h"

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
