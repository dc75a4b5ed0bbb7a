/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes: first every known value goes, wherever it stands (blank_known.c), then the rest is
 * read line by line for names, URLs, keys in PEM and tokens that can be told by their form.
 */
#include "cli/support/blank_priv.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"

#define RANDOM_SEGMENT_BYTES 16 /* of a URL's path */

static bool is_name_char(char c)
{
	return isalnum((unsigned char) c) || c == '_' || c == '-' || c == '.';
}

static bool is_word_char(char c)
{
	return isalnum((unsigned char) c) || strchr("_-.+/=~", c) != NULL;
}

/* --- one line --------------------------------------------------------------------------------- */

struct scan {
	FILE *out;
	enum blank_format format;
	size_t *n_blanked;
	bool in_pem;
	bool next_line;   /* the value of a secret name begins there */
	long below;       /* YAML: what is indented more than that belongs to a secret name; -1 */
	const char *line; /* the one that is read */
	const char *end;
};

static void put_blank(struct scan *s)
{
	(void) fputs(BLANK_TEXT, s->out);
	(*s->n_blanked)++;
}

static bool begins(const struct scan *s, const char *p, const char *with)
{
	size_t len = strlen(with);

	return (size_t) (s->end - p) >= len && strncmp(p, with, len) == 0;
}

static size_t word_len(const struct scan *s, const char *p)
{
	const char *q = p;

	while (q < s->end && is_word_char(*q))
		q++;
	return (size_t) (q - p);
}

/* A value behind its name: where it ends. */
enum value_form {
	VALUE_WORD, /* as behind "=" */
	VALUE_LINE, /* as behind ":" */
	VALUE_JSON,
};

static const char *value_end(const struct scan *s, const char *p, enum value_form form)
{
	char quote = *p;

	if (quote == '"' || quote == '\'') {
		for (p++; p < s->end && *p != quote; p++) {
			if (*p == '\\' && p + 1 < s->end)
				p++;
		}
		return p < s->end ? p + 1 : p;
	}
	if (form == VALUE_LINE)
		return s->end;
	while (p < s->end &&
	       (form == VALUE_JSON ? strchr(",]}", *p) == NULL : !isspace((unsigned char) *p)))
		p++;
	return p;
}

/* Where a key stands: other keys of the same item of a list are no part of its value. */
static long column_of(const struct scan *s, const char *name)
{
	size_t column = strspn(s->line, " -");

	if (s->line[column] == '"' || s->line[column] == '\'')
		name--;
	return s->line + column == name ? (long) column : (long) strspn(s->line, " ");
}

/* Behind a secret name: blanks its value, and returns where it ends; NULL: it has none. */
static const char *take_value(struct scan *s, const char *name, const char *p)
{
	const char *q = p;
	enum value_form form = VALUE_WORD; /* also of --password VALUE */

	if (q < s->end && (*q == '"' || *q == '\''))
		q++;
	while (q < s->end && (*q == ' ' || *q == '\t'))
		q++;
	if (q < s->end && (*q == ':' || *q == '=')) {
		if (*q++ == ':')
			form = s->format == BLANK_PLAIN && *p == '"' ? VALUE_JSON : VALUE_LINE;
	} else if (!begins(s, name, "-") || q == p) {
		return NULL;
	}
	while (q < s->end && (*q == ' ' || *q == '\t'))
		q++;
	(void) fwrite(p, 1, (size_t) (q - p), s->out);
	if (s->format == BLANK_YAML)
		s->below = column_of(s, name);
	if (q == s->end) {
		s->next_line = true;
		return q;
	}
	put_blank(s);
	return value_end(s, q, form);
}

/* A segment of a path that nobody would write by hand. */
static bool is_random(const char *p, size_t len)
{
	bool has_digit = false, has_letter = false;

	for (size_t i = 0; i < len; i++) {
		has_digit = has_digit || isdigit((unsigned char) p[i]);
		has_letter = has_letter || isalpha((unsigned char) p[i]);
	}
	return len >= RANDOM_SEGMENT_BYTES && has_digit && has_letter && memchr(p, '.', len) == NULL;
}

/* Behind "://": who logs in, what is asked for, and parts of the path that are tokens. */
static const char *take_url(struct scan *s, const char *p)
{
	const char *end = p, *at = NULL;

	while (end < s->end && !isspace((unsigned char) *end) && strchr("\"'<>`", *end) == NULL) {
		if (*end == '@')
			at = end;
		end++;
	}
	if (at != NULL) {
		put_blank(s);
		p = at;
	}
	while (p < end) {
		size_t len = strcspn(p, "/?#");

		len = MIN(len, (size_t) (end - p));
		if (is_random(p, len) && p[-1] == '/' && p[-2] != '/')
			put_blank(s);
		else
			(void) fwrite(p, 1, len, s->out);
		p += len;
		if (p < end && (*p == '?' || *p == '#')) {
			(void) fputc(*p, s->out);
			put_blank(s);
			return end;
		}
		if (p < end)
			(void) fputc(*p++, s->out);
	}
	return end;
}

/* A private key in PEM, on one line or many. */
static const char *take_pem(struct scan *s, const char *p)
{
	const char *end = memmem(p, (size_t) (s->end - p), "-----END", 8);

	put_blank(s);
	s->in_pem = end == NULL;
	if (end == NULL)
		return s->end;
	end = memmem(end + 8, (size_t) (s->end - end - 8), "-----", 5);
	return end != NULL ? end + 5 : s->end;
}

/* A word that begins at p: where reading goes on. */
static const char *take_word(struct scan *s, const char *p)
{
	size_t len = word_len(s, p), name_len = 0;
	const char *behind;

	if (blank_looks_secret(p, len)) {
		put_blank(s);
		return p + len;
	}
	while (p + name_len < s->end && is_name_char(p[name_len]))
		name_len++;
	if (name_len == 0)
		name_len = 1;
	behind = p + name_len;
	(void) fwrite(p, 1, name_len, s->out);
	if ((name_len == 6 && strncasecmp(p, "bearer", 6) == 0) ||
	    (name_len == 5 && strncasecmp(p, "basic", 5) == 0)) {
		size_t next = behind < s->end && *behind == ' ' ? word_len(s, behind + 1) : 0;

		if (next == 0)
			return behind;
		(void) fputc(' ', s->out);
		put_blank(s);
		return behind + 1 + next;
	}
	if (s->format == BLANK_YAML ? blank_is_secret_key(p, name_len)
	                            : blank_is_secret_name(p, name_len)) {
		const char *end = take_value(s, p, behind);

		return end != NULL ? end : behind;
	}
	return behind;
}

static void scan_line(struct scan *s)
{
	const char *p = s->line;

	while (p < s->end) {
		if (begins(s, p, "-----BEGIN") &&
		    memmem(p, (size_t) (s->end - p), "PRIVATE KEY", 11) != NULL) {
			p = take_pem(s, p);
		} else if (begins(s, p, "://")) {
			(void) fputs("://", s->out);
			p = take_url(s, p + 3);
		} else if (is_word_char(*p)) {
			p = take_word(s, p);
		} else {
			(void) fputc(*p++, s->out);
		}
	}
}

/* Whether the line is part of a secret that began before it. */
static bool is_rest(struct scan *s)
{
	size_t indent = strspn(s->line, " "), len = (size_t) (s->end - s->line);
	bool is_empty = indent >= len, is_next = s->next_line && !is_empty;

	if (s->in_pem) {
		s->in_pem = memmem(s->line, len, "-----END", 8) == NULL;
		return true;
	}
	if (is_next)
		s->next_line = false;
	if (s->below >= 0 && !is_empty && (long) indent <= s->below &&
	    !((long) indent == s->below && s->line[indent] == '-' && s->line[indent + 1] != '-'))
		s->below = -1;
	if (is_empty || (!is_next && s->below < 0))
		return false;
	put_blank(s);
	return true;
}

/* --- a text --------------------------------------------------------------------------------- */

char *blank_text(const char *text, size_t len, enum blank_format format, const struct texts *known,
                 size_t *n_blanked)
{
	AUTO(free) char *rest = NULL;
	char *result = NULL;
	size_t result_len = 0;
	struct scan s = {.format = format, .n_blanked = n_blanked, .below = -1};

	rest = blank_known(text, len, known, &len, n_blanked);
	s.out = open_memstream(&result, &result_len);
	for (s.line = rest; s.line < rest + len; s.line = s.end + 1) {
		s.end = memchr(s.line, '\n', (size_t) (rest + len - s.line));
		if (s.end == NULL)
			s.end = rest + len;
		if (!is_rest(&s))
			scan_line(&s);
		if (s.end < rest + len)
			(void) fputc('\n', s.out);
	}
	(void) fclose(s.out);
	return result;
}
