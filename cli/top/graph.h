/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Small pictures in a grid, in eighths of a character, or of plain ASCII where the terminal has no
 * more. Pure. */

#include <stdbool.h>

#include "cli/top/grid.h"

/* A bar of `width` cells, of which `part` (0 to 1) is full: the column behind it. */
size_t graph_bar(struct grid *grid, size_t row, size_t column, size_t width, double part,
                 enum grid_ink ink, bool is_ascii);

/* The last `width` of n samples, each as high as it is in comparison with the highest of them; one
 * that is below 0 is a gap. They end at the right: the column behind it. */
size_t graph_spark(struct grid *grid, size_t row, size_t column, size_t width,
                   const double *samples, size_t n, enum grid_ink ink, bool is_ascii);
