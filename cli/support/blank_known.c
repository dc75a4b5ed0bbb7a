/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first pass over a text: values that are known to be secret go, wherever they stand.
 */
#include "cli/support/blank_priv.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define KNOWN_BUCKETS 1024

/* By their first bytes, which tell nearly all of them apart. */
struct known_index {
	const struct texts *known;
	size_t first[KNOWN_BUCKETS]; /* one more than where it is in known; 0: none */
	size_t *next;
};

static size_t bucket_of(const char *p)
{
	uint32_t hash = 0;

	for (size_t i = 0; i < BLANK_KNOWN_MIN; i++)
		hash = hash * 31 + (unsigned char) p[i];
	return hash % KNOWN_BUCKETS;
}

static void index_known(struct known_index *index, const struct texts *known)
{
	*index = (struct known_index){.known = known, .next = xcalloc(known->n + 1, sizeof(size_t))};
	for (size_t i = 0; i < known->n; i++) {
		size_t *first;

		if (strlen(known->items[i]) < BLANK_KNOWN_MIN)
			continue;
		first = &index->first[bucket_of(known->items[i])];
		index->next[i] = *first;
		*first = i + 1;
	}
}

static size_t known_at(const struct known_index *index, const char *p, size_t left)
{
	size_t longest = 0;

	if (left < BLANK_KNOWN_MIN)
		return 0;
	for (size_t i = index->first[bucket_of(p)]; i > 0; i = index->next[i - 1]) {
		const char *item = index->known->items[i - 1];
		size_t len = strlen(item);

		if (len > longest && len <= left && memcmp(p, item, len) == 0)
			longest = len;
	}
	return longest;
}

char *blank_known(const char *text, size_t len, const struct texts *known, size_t *ret_len)
{
	struct known_index index;
	char *result = NULL;
	FILE *out = xmemstream_open(&result, ret_len);

	index_known(&index, known);
	for (size_t i = 0; i < len;) {
		size_t n = known_at(&index, text + i, len - i);

		if (n > 0) {
			(void) fputs(BLANK_TEXT, out);
			i += n;
		} else {
			(void) fputc(text[i] != '\0' ? text[i] : '?', out);
			i++;
		}
	}
	xmemstream_close(out);
	free(index.next);
	return result;
}
