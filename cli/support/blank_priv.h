/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The inside of blanking, for the four files that make it up and for nobody else:
 *   blank.c        reads a text line by line
 *   blank_yaml.c   what is the value of a secret name, as the reader of YAML has it
 *   blank_secret.c what is secret by its name or by its form
 *   blank_known.c  what is secret because its value is known
 * All are pure.
 */

#include "cli/support/blank.h"

/* Whether a word is a secret by its form, whatever stands before it: a key, a token. */
bool blank_looks_secret(const char *word, size_t len);
/* Whether there is one anywhere in it, also at the end of something else. */
bool blank_has_secret(const char *word, size_t len);

/* The text without the known values, to be freed, of *ret_len bytes; NULs become '?'. */
char *blank_known(const char *text, size_t len, const struct texts *known, size_t *ret_len);

/* The text without the values of secret names, to be freed, of *ret_len bytes; as many lines as
 * before. */
char *blank_yaml(const char *text, size_t len, size_t *ret_len);
