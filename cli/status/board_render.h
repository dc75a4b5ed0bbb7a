/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A board for people, and as JSON. Pure. */

#include <jansson.h>
#include <stdio.h>

#include "cli/status/board.h"

/* No line is longer than `width`, unless a word is. At the end what wants attention, the worst
 * first, and what to do. */
void board_print(FILE *out, const struct board *board, size_t width);

/* One object: fairlead(1) has its keys. The caller owns it. */
json_t *board_json(const struct board *board);
