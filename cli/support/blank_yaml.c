/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first pass over YAML: what the reader of the configuration knows to be the value of a secret
 * name goes, however it is written and wherever its lines begin; also where an alias alone tells of
 * it. Lines stay lines, as messages in the logs name them by their numbers. A document that cannot
 * be read is left to blank.c.
 */
#include "cli/support/blank_priv.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/conf.h"
#include "base/macro.h"
#include "base/mem.h"

/* In characters, as a node has them. */
struct span {
	size_t begin, end;
};

struct spans {
	struct span *items;
	size_t n, size;
};

static void add(struct spans *spans, const struct conf_node *scalar)
{
	if (spans->n == spans->size) {
		spans->size = MAX(2 * spans->size, (size_t) 64);
		spans->items = xreallocarray(spans->items, spans->size, sizeof(spans->items[0]));
	}
	spans->items[spans->n++] = (struct span){scalar->begin, scalar->end};
}

/* --- which --- */

/* "--password", whose value is the next item. */
static bool is_option(const struct conf_node *item)
{
	return item->shape == CONF_SCALAR && item->text[0] == '-' && strchr(item->text, '=') == NULL &&
	       blank_is_secret_key(item->text, strlen(item->text));
}

static void walk(struct spans *spans, const struct conf_node *node, bool is_secret, unsigned depth)
{
	if (depth > CONF_DEPTH_MAX)
		return;
	if (node->shape == CONF_SCALAR) {
		if (is_secret)
			add(spans, node);
		return;
	}
	for (size_t i = 0; i < node->n; i++) {
		bool is_told = node->shape == CONF_MAP
		                   ? blank_is_secret_key(node->keys[i]->text, strlen(node->keys[i]->text))
		                   : i > 0 && is_option(node->values[i - 1]);

		if (is_secret && node->shape == CONF_MAP)
			add(spans, node->keys[i]);
		walk(spans, node->values[i], is_secret || is_told, depth + 1);
	}
}

/* An anchor's value comes once for each of its aliases. */
static int compare(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

/* --- how --- */

static bool is_first_byte(char c)
{
	return ((unsigned char) c & 0xc0) != 0x80;
}

/* A block has the empty lines behind it, too. */
static const char *trimmed_end(const char *p, const char *end)
{
	while (end > p && isspace((unsigned char) end[-1]))
		end--;
	return end;
}

static void put_blanked(FILE *out, const char *p, const char *end)
{
	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t) (end - p));
		const char *line_end = newline != NULL ? newline : end;

		if (trimmed_end(p, line_end) > p)
			(void) fputs(BLANK_TEXT, out);
		if (newline != NULL)
			(void) fputc('\n', out);
		p = newline != NULL ? newline + 1 : end;
	}
}

static const char *skip(const char *p, const char *end, size_t n_chars)
{
	while (p < end && (n_chars > 0 || !is_first_byte(*p)))
		n_chars -= is_first_byte(*p++);
	return p;
}

static void put(FILE *out, const char *p, const char *end, const struct spans *spans)
{
	size_t at = 0; /* that many characters are before p */

	for (size_t i = 0; i < spans->n; i++) {
		const struct span *span = &spans->items[i];
		const char *from, *behind, *to;

		if (span->begin < at)
			continue;
		from = skip(p, end, span->begin - at);
		behind = skip(from, end, span->end - span->begin);
		to = trimmed_end(from, behind);
		(void) fwrite(p, 1, (size_t) (from - p), out);
		put_blanked(out, from, to);
		p = to;
		at = span->end - (size_t) (behind - to);
	}
	(void) fwrite(p, 1, (size_t) (end - p), out);
}

char *blank_yaml(const char *text, size_t len, size_t *ret_len)
{
	static const char byte_order_mark[] = {'\xef', '\xbb', '\xbf'};
	AUTO(conf_free) struct conf *conf = conf_new();
	const struct conf_node *document;
	struct spans spans = {0};
	const char *begin = text;
	char *result = NULL;
	FILE *out = xmemstream_open(&result, ret_len);

	conf_add_text(conf, "", text, len);
	for (size_t i = 0; (document = conf_document(conf, i)) != NULL; i++)
		walk(&spans, document, false, 0);
	if (spans.n > 0)
		qsort(spans.items, spans.n, sizeof(spans.items[0]), compare);
	/* It counts for nothing. */
	if (len >= sizeof(byte_order_mark) &&
	    memcmp(text, byte_order_mark, sizeof(byte_order_mark)) == 0)
		begin += sizeof(byte_order_mark);
	(void) fwrite(text, 1, (size_t) (begin - text), out);
	put(out, begin, text + len, &spans);
	xmemstream_close(out);
	free(spans.items);
	return result;
}
