/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The distance is the "optimal string alignment" one: Levenshtein's, with the swap of two
 * neighbouring letters as one edit, because that is how fingers err. Called when a command or a key
 * is unknown.
 */
#include "base/hint.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/macro.h"

static size_t min3(size_t a, size_t b, size_t c)
{
	return MIN(MIN(a, b), c);
}

/* Both at most HINT_WORD_MAX long. */
static size_t distance(const char *a, const char *b)
{
	size_t rows[3][HINT_WORD_MAX + 1];
	size_t *before = rows[0], *last = rows[1], *row = rows[2];
	size_t a_len = strlen(a), b_len = strlen(b);

	for (size_t j = 0; j <= b_len; j++)
		last[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t *spare = before;

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			int x = tolower((unsigned char) a[i - 1]), y = tolower((unsigned char) b[j - 1]);

			row[j] = min3(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y));
			if (i > 1 && j > 1 && x == tolower((unsigned char) b[j - 2]) &&
			    y == tolower((unsigned char) a[i - 2]))
				row[j] = MIN(row[j], before[j - 2] + 1);
		}
		before = last;
		last = row;
		row = spare;
	}
	return last[b_len];
}

const char *hint_nearest(const char *word, const char *const *candidates, size_t n)
{
	size_t word_len = strlen(word);
	size_t nearest_distance = MAX(word_len / 3, 1) + 1;
	const char *nearest = NULL;

	if (word_len == 0 || word_len > HINT_WORD_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t d;

		if (strlen(candidates[i]) > HINT_WORD_MAX)
			continue;
		d = distance(word, candidates[i]);
		/* Every letter replaced is no resemblance: "up" is not "to". */
		if (d < nearest_distance && d < MAX(word_len, strlen(candidates[i]))) {
			nearest = candidates[i];
			nearest_distance = d;
		}
	}
	return nearest;
}
