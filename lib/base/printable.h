/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Text of somebody else, made fit for a terminal or a log: one line, which steers nothing. */

#include <stddef.h>

/* Puts blanks for control characters: C0, DEL, and C1 as UTF-8 has it, in two bytes. */
void printable_blank(char *text, size_t len);
