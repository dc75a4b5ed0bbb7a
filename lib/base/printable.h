/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Text of somebody else, made fit for a terminal or a log: one line, which steers nothing. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Puts blanks for control characters: C0, DEL, and C1 as UTF-8 has it, in two bytes. */
void printable_blank(char *text, size_t len);

/* Puts '?' for all but visible ASCII and blanks. */
void printable_ascii(char *text);

/* Visible ASCII alone, and no blank: what can stand in a header. "" is. */
bool printable_is_word(const char *text);

/* Decodes one character of valid UTF-8 and says how many bytes it has. A stray byte is itself. */
uint32_t printable_utf8_next(const char *text, size_t *ret_len);

/* Control characters, line and paragraph separators, direction overrides and other marks that a
 * terminal acts on or does not show. */
bool printable_is_hidden(uint32_t c);

/* JSON, also as a value in YAML, with those escaped as \uXXXX: the same value, and a terminal that
 * shows it acts on nothing. */
void printable_write_json(FILE *out, const char *json);
