/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * "Did you mean ...?": the candidate that a mistyped word most resembles. Pure.
 */

#include <stddef.h>

/* Longer words get no hint: their typing errors are not single letters. */
#define HINT_WORD_MAX 63

/*
 * The candidate fewest edits away (insert, delete, replace, swap two neighbours; upper and lower
 * case are the same), the first of equals. NULL when none is near: more than a third of the word
 * would have to change.
 */
const char *hint_nearest(const char *word, const char *const *candidates, size_t n);
