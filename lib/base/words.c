/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grammar of the control sockets' command line, both directions, and words against names of
 * commands. The callers own the tables and the wording of their errors. Pure; no state.
 */
#include "base/words.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hint.h"
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

/* --- names of commands --- */

int cmdname_match(const char *name, int argc, char *const *argv)
{
	int n = 0;

	for (const char *p = name; *p != '\0'; n++) {
		size_t len = strcspn(p, " ");

		if (n == argc || strlen(argv[n]) != len || strncmp(argv[n], p, len) != 0)
			return 0;
		p += len;
		p += strspn(p, " ");
	}
	return n;
}

const char *cmdname_typed(int argc, char *const *argv, char buf[static CMDNAME_TEXT_MAX])
{
	size_t len = 0;

	buf[0] = '\0';
	for (int i = 0; i < MIN(argc, CMDNAME_WORDS_MAX) && len < CMDNAME_TEXT_MAX; i++)
		len +=
		    (size_t) snprintf(buf + len, CMDNAME_TEXT_MAX - len, "%s%s", i > 0 ? " " : "", argv[i]);
	return buf;
}

const char *cmdname_nearest(int argc, char *const *argv, const char *const *names, size_t n)
{
	char typed[CMDNAME_TEXT_MAX];
	const char *nearest = NULL;

	/* "vip statsu 10.0.0.5": the longest beginning that resembles a name. */
	for (int words = MIN(argc, CMDNAME_WORDS_MAX); words > 0 && nearest == NULL; words--)
		nearest = hint_nearest(cmdname_typed(words, argv, typed), names, n);
	return nearest;
}
