/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar of the control sockets' command line, both directions. Pure; no state. */
#include "base/words.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"

static bool is_control(char c)
{
	return (unsigned char) c < 0x20 || c == 0x7f;
}

/* *p is behind the opening quote. The word is unescaped over itself; *p ends behind the closing
 * one. */
static int take_quoted(char **p)
{
	char *in = *p, *out = *p;

	for (; *in != '"'; in++) {
		if (*in == '\0' || is_control(*in))
			return -EINVAL;
		if (*in == '\\') {
			in++;
			if (*in != '"' && *in != '\\')
				return -EINVAL;
		}
		*out++ = *in;
	}
	*p = in + 1;
	/* At the earliest the closing quote itself, so nothing that is still to be read is lost. */
	*out = '\0';
	return 0;
}

static int take_bare(char **p)
{
	for (; **p != '\0' && **p != ' '; (*p)++) {
		if (**p == '"' || **p == '\\' || is_control(**p))
			return -EINVAL;
	}
	return 0;
}

int words_split(char *line, char **argv, size_t max)
{
	char *p = line;
	int n = 0, r;

	for (;;) {
		bool quoted;

		while (*p == ' ')
			p++;
		if (*p == '\0')
			return n;
		if ((size_t) n == max)
			return -E2BIG;
		quoted = *p == '"';
		if (quoted)
			p++;
		argv[n++] = p;
		r = quoted ? take_quoted(&p) : take_bare(&p);
		if (r < 0)
			return r;
		if (*p == ' ')
			*p++ = '\0';
		else if (*p != '\0')
			return -EINVAL;
	}
}

/* Appends one word to `out`, which has room for it, and returns the new end. */
static char *put_word(char *out, const char *word)
{
	if (word[0] != '\0' && strpbrk(word, " \"\\") == NULL)
		return stpcpy(out, word);
	*out++ = '"';
	for (; *word != '\0'; word++) {
		if (*word == '"' || *word == '\\')
			*out++ = '\\';
		*out++ = *word;
	}
	*out++ = '"';
	return out;
}

int words_join(const char *const *words, size_t n, char **ret_line)
{
	AUTO(free) char *line = NULL;
	size_t room = 1;
	char *end;

	for (size_t i = 0; i < n; i++) {
		for (const char *p = words[i]; *p != '\0'; p++) {
			if (is_control(*p))
				return -EINVAL;
		}
		/* Every letter escaped, two quotes, one space. */
		room += 2 * strlen(words[i]) + 3;
	}
	line = xcalloc(1, room);
	end = line;
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			*end++ = ' ';
		end = put_word(end, words[i]);
	}
	*end = '\0';
	*ret_line = TAKE_PTR(line);
	return 0;
}
