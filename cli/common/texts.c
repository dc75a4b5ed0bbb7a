/* SPDX-License-Identifier: Apache-2.0 */
/* An array that is ended like an argv, so that it can be one. */
#include "cli/common/texts.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"

void texts_add(struct texts *texts, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	texts->items = xreallocarray(texts->items, texts->n + 2, sizeof(*texts->items));
	texts->items[texts->n++] = text;
	texts->items[texts->n] = NULL;
}

void texts_add_all(struct texts *texts, const struct texts *more)
{
	for (size_t i = 0; i < more->n; i++)
		texts_add(texts, "%s", more->items[i]);
}

void texts_add_option(struct texts *words, const char *option, const char *value)
{
	if (value == NULL)
		return;
	texts_add(words, "%s", option);
	texts_add(words, "%s", value);
}

void texts_fini(struct texts *texts)
{
	for (size_t i = 0; i < texts->n; i++)
		free(texts->items[i]);
	free(texts->items);
	*texts = (struct texts){0};
}

static bool is_plain(const char *word)
{
	for (const char *p = word; *p != '\0'; p++) {
		if (!isalnum((unsigned char) *p) && strchr("/._-+:,@%=", *p) == NULL)
			return false;
	}
	return word[0] != '\0';
}

/* In single quotes, in which only these themselves are special; to be freed. */
static char *quote(const char *word)
{
	char *text, *p;

	if (is_plain(word))
		return xstrdup(word);
	text = xcalloc(strlen(word) * 4 + 3, 1);
	p = text;
	*p++ = '\'';
	for (; *word != '\0'; word++) {
		if (*word == '\'')
			p = stpcpy(p, "'\\''");
		else
			*p++ = *word;
	}
	*p = '\'';
	return text;
}

char *texts_command(const struct texts *words)
{
	char *line = xstrdup("");

	for (size_t i = 0; i < words->n; i++) {
		AUTO(free) char *before = line;
		AUTO(free) char *word = quote(words->items[i]);

		line = xasprintf("%s%s%s", before, i > 0 ? " " : "", word);
	}
	return line;
}
