/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three passes: first go the values of secret names in YAML (blank_yaml.c) and every known value,
 * wherever it stands (blank_known.c), then the rest is read line by line for names, URLs, keys in
 * PEM and tokens that can be told by their form. What is no YAML, a comment or a broken document
 * for example, the last pass knows by its indentation and its quotes.
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

/* --- one line --- */

struct scan {
	FILE *out;
	enum blank_format format;
	bool in_pem;
	bool next_line;   /* the value of a secret name begins there */
	char quote;       /* the value began with it, and has not ended; 0 */
	size_t quote_len; /* with the backslashes before it */
	long below;       /* YAML: what is indented more than that belongs to a secret name; -1 */
	bool is_item;     /* YAML: that is an item of a list, which ends with the next one */
	const char *line; /* the one that is read */
	const char *end;
	const char *word_end; /* of the word that was begun last, of which more may be ahead */
};

static void put_blank(struct scan *s)
{
	(void) fputs(BLANK_TEXT, s->out);
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

static size_t trimmed_word_len(const struct scan *s, const char *p)
{
	size_t len = word_len(s, p);

	while (len > 0 && p[len - 1] == '.') /* the end of a sentence */
		len--;
	return len;
}

/* A value behind its name: where it ends. */
enum value_form {
	VALUE_WORD, /* as behind "=" */
	VALUE_LINE, /* as behind ":" */
	VALUE_JSON,
};

/* A quote, and before it the backslashes that it has where all this is itself within quotes: how
 * long both are; 0: there is none. */
static size_t quote_len(const struct scan *s, const char *p)
{
	const char *q = p;

	while (q < s->end && *q == '\\')
		q++;
	return q < s->end && (*q == '"' || *q == '\'') ? (size_t) (q - p) + 1 : 0;
}

/* Behind a quote of `len`: behind the one that ends it; NULL: that is not in this line. Each level
 * of quotes doubles the backslashes of the one within, so their number tells whose a quote is. */
static const char *behind_quoted(const struct scan *s, const char *p, char quote, size_t len)
{
	bool has_escapes = s->format != BLANK_YAML || quote == '"' || len > 1;

	while (p < s->end) {
		const char *q = p;

		while (q < s->end && *q == '\\')
			q++;
		if (q < s->end && *q == quote && (!has_escapes || (size_t) (q - p) % (2 * len) == len - 1))
			return q + 1;
		p = q + 1;
	}
	return NULL;
}

/* Behind a bracket: behind the one that ends it, or the line. What is within quotes is no bracket.
 */
static const char *behind_bracket(const struct scan *s, const char *p)
{
	size_t depth = 1;

	while (p < s->end && depth > 0) {
		size_t len = quote_len(s, p);
		const char *behind = len > 0 ? behind_quoted(s, p + len, p[len - 1], len) : NULL;

		if (behind != NULL) {
			p = behind;
			continue;
		}
		depth += *p == '{' || *p == '[';
		depth -= *p == '}' || *p == ']';
		p++;
	}
	return p;
}

static bool is_comment(const struct scan *s)
{
	return s->line[strspn(s->line, " ")] == '#';
}

/* JSON on one line, as daemons answer: no string of it goes on in the next one, so that a quote
 * without its end is in a text that was cut off. A log's "[info]" is none. */
static bool is_json_line(const struct scan *s)
{
	const char *end = s->end, *second = s->line + 1;

	if (s->format != BLANK_PLAIN || s->end - s->line < 2)
		return false;
	if (end[-1] == '\r')
		end--;
	while (second < end && *second == ' ')
		second++;
	return (*s->line == '{' && *second == '"' && end[-1] == '}') ||
	       (*s->line == '[' && strchr("\"{[", *second) != NULL && end[-1] == ']');
}

/* Whether what was blanked before is a whole value: behind a known one more of it may follow. */
static bool is_blanked_whole(const struct scan *s, const char *p)
{
	const char *behind;

	if (!begins(s, p, BLANK_TEXT))
		return false;
	behind = p + strlen(BLANK_TEXT);
	behind += strspn(behind, ",]}"); /* of the list that it is in */
	return behind == s->end || isspace((unsigned char) *behind);
}

/* Pieces in quotes may follow each other without a gap, as 'it''s' in YAML. */
static const char *value_end(struct scan *s, const char *p, enum value_form form)
{
	const char *begin;

	while (s->format == BLANK_YAML && p < s->end && (*p == '&' || *p == '!')) {
		while (p < s->end && *p != ' ')
			p++;
		while (p < s->end && *p == ' ')
			p++;
	}
	if (s->format == BLANK_YAML && form == VALUE_WORD && is_blanked_whole(s, p))
		return p + strlen(BLANK_TEXT); /* blank_yaml.c knows where it ends */
	begin = p;
	for (size_t len = quote_len(s, p); len > 0; len = quote_len(s, p)) {
		const char *behind = behind_quoted(s, p + len, p[len - 1], len);

		if (behind == NULL) {
			s->quote = is_comment(s) || is_json_line(s) ? '\0' : p[len - 1];
			s->quote_len = len;
			return s->end;
		}
		p = behind;
	}
	if (p > begin && (p == s->end || !is_word_char(*p)))
		return p;
	if (form == VALUE_LINE)
		return s->end;
	if (*p == '{' || *p == '[')
		return behind_bracket(s, p + 1);
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

/* "? password", whose value is behind a ':' in the next line. */
static bool is_explicit_key(const struct scan *s, const char *behind)
{
	return s->format == BLANK_YAML && behind == s->end && s->line[strspn(s->line, " -")] == '?';
}

static const char *behind_blanks(const struct scan *s, const char *p)
{
	while (p < s->end && (*p == ' ' || *p == '\t'))
		p++;
	return p;
}

/* An option and its value may be items of a list: "--password", "x". Without quotes only YAML
 * writes such lists; elsewhere that is a sentence. */
static bool is_item_alone(const struct scan *s, const char *p, const char *q)
{
	bool is_last = q == s->end || *q == '\r';

	return (s->format == BLANK_YAML && is_last) ||
	       (q < s->end && *q == ',' && (s->format == BLANK_YAML || quote_len(s, p) > 0));
}

/* The backslash by which a shell lets a command go on in the next line. */
static bool is_line_joint(const struct scan *s, const char *p)
{
	return p < s->end && *p == '\\' && (p + 1 == s->end || (p + 2 == s->end && p[1] == '\r'));
}

/* Behind one that is itself within a string: "\\\n", with more backslashes where the string is in
 * another one. What has no blank behind it is one word with the value. */
static const char *behind_joint_within(const struct scan *s, const char *p)
{
	const char *q = p;

	while (q < s->end && *q == '\\')
		q++;
	if (q - p < 3 || s->end - q < 2 || q[0] != 'n' || (q[1] != ' ' && q[1] != '\t'))
		return p;
	return behind_blanks(s, q + 1);
}

/* Behind a secret name: blanks its value, and returns where it ends; NULL: it has none. */
static const char *take_value(struct scan *s, const char *name, const char *p)
{
	const char *behind = p + quote_len(s, p), *q = behind_blanks(s, behind);
	bool is_json = s->format == BLANK_PLAIN && behind > p && behind[-1] == '"';
	bool is_option = begins(s, name, "-");
	enum value_form form = VALUE_WORD; /* also of --password VALUE */
	const char *end;

	if (q < s->end && (*q == ':' || *q == '=')) {
		if (*q++ == ':')
			form = is_json ? VALUE_JSON : VALUE_LINE;
	} else if (is_option && is_item_alone(s, p, q)) {
		q += q < s->end && *q == ',';
	} else if ((!is_option || q == p) && !is_explicit_key(s, q)) {
		return NULL;
	}
	q = behind_blanks(s, q);
	if (form == VALUE_WORD)
		q = behind_joint_within(s, q);
	(void) fwrite(p, 1, (size_t) (q - p), s->out);
	if (s->format == BLANK_YAML) {
		s->below = column_of(s, name);
		s->is_item = is_option;
	}
	if (q == s->end || (is_option && *q == '\r') || (form == VALUE_WORD && is_line_joint(s, q))) {
		s->next_line = true;
		return q;
	}
	put_blank(s);
	end = value_end(s, q, form);
	/* The value itself goes on there. */
	s->next_line = form == VALUE_WORD && end > q && is_line_joint(s, end - 1);
	return end;
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
	/* A password may have what else ends a URL in a text. */
	for (const char *q = end; at == NULL && q < s->end && !isspace((unsigned char) *q) &&
	                          memchr(p, '/', (size_t) (q - p)) == NULL && *q != '"';
	     q++) {
		if (*q == '@')
			at = end = q;
	}
	while (end < s->end && !isspace((unsigned char) *end) && strchr("\"'<>`", *end) == NULL)
		end++;
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
	bool is_begin = p >= s->word_end;
	size_t len, name_len = 0;
	const char *behind;

	/* A word may have very many names in it, as base64 has: it is read once for all of them. */
	if (is_begin)
		s->word_end = p + trimmed_word_len(s, p);
	len = (size_t) (s->word_end - p);
	if ((is_begin && blank_has_secret(p, len)) || blank_looks_secret(p, len)) {
		put_blank(s);
		return p + len;
	}
	while (p + name_len < s->end && is_name_char(p[name_len]) &&
	       !begins(s, p + name_len, "-----BEGIN"))
		name_len++;
	if (name_len == 0)
		name_len = 1;
	behind = p + name_len;
	(void) fwrite(p, 1, name_len, s->out);
	if ((name_len == 6 && strncasecmp(p, "bearer", 6) == 0) ||
	    (name_len == 5 && strncasecmp(p, "basic", 5) == 0)) {
		const char *next = behind;

		while (next < s->end && (*next == ' ' || *next == '\t'))
			next++;
		if (next == behind || word_len(s, next) == 0)
			return behind;
		(void) fputc(' ', s->out);
		put_blank(s);
		return next + word_len(s, next);
	}
	if (s->format == BLANK_YAML ? blank_is_secret_key(p, name_len)
	                            : blank_is_secret_name(p, name_len)) {
		const char *end = take_value(s, p, behind);

		return end != NULL ? end : behind;
	}
	return behind;
}

/* "\n" and the like, which are no letters of the word behind them: how long; 0: none. */
static size_t escape_len(const struct scan *s, const char *p)
{
	size_t name_len = 0, digits = 0;

	if (s->end - p < 2 || *p != '\\' || strchr("nrtbfu", p[1]) == NULL)
		return 0;
	while (p + 1 + name_len < s->end && is_name_char(p[1 + name_len]))
		name_len++;
	if (blank_is_secret_name(p + 1, name_len))
		return 0; /* also of "\token", which is none of JSON's */
	while (p[1] == 'u' && digits < 4 && p + 2 + digits < s->end &&
	       isxdigit((unsigned char) p[2 + digits]))
		digits++;
	return p[1] != 'u' ? 2 : digits == 4 ? 6 : 0;
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
		} else if (escape_len(s, p) > 0) {
			size_t len = escape_len(s, p);

			(void) fwrite(p, 1, len, s->out);
			p += len;
		} else {
			(void) fputc(*p++, s->out);
		}
	}
}

/* What ends a value in quotes whose end is not there: in YAML a document, in a log the next
 * message, which begins with its time. Of many messages one quote more must not be the end. */
static bool is_beginning(const struct scan *s)
{
	static const char time_form[] = "0000-00-00";
	size_t i = 0;

	if (s->format == BLANK_YAML)
		return begins(s, s->line, "---") || begins(s, s->line, "...");
	while (time_form[i] != '\0' && s->line + i < s->end &&
	       (time_form[i] == '0' ? isdigit((unsigned char) s->line[i]) != 0
	                            : s->line[i] == time_form[i]))
		i++;
	return time_form[i] == '\0';
}

/* A value in quotes, which YAML and a shell let go on at any column. */
static bool is_quoted_rest(struct scan *s)
{
	const char *p = s->line;

	if (s->quote == '\0' || is_beginning(s)) {
		s->quote = '\0';
		return false;
	}
	do {
		p = behind_quoted(s, p, s->quote, s->quote_len);
	} while (p != NULL && s->quote_len == 1 && p < s->end && *p++ == s->quote);
	if (p != NULL)
		s->quote = '\0';
	return true;
}

/* A line that does not tell where it is: a comment, or a later line of a value that was blanked,
 * whose indentation is gone. */
static bool says_nothing(const struct scan *s, size_t indent)
{
	const char *p = s->line + indent;

	return *p == '#' || (begins(s, p, BLANK_TEXT) && p[strlen(BLANK_TEXT)] != ':');
}

/* A line that is no deeper than the secret name is not below it, but for the items of a list. */
static bool ends_below(const struct scan *s, size_t indent)
{
	const char *p = s->line + indent;

	return s->below >= 0 && (long) indent <= s->below && !says_nothing(s, indent) &&
	       (s->is_item || (long) indent != s->below || p[0] != '-' || p[1] == '-');
}

/* A line in which the value of a secret name begins, or goes on: whether it does so in the next one
 * too. A joint behind a blank is behind the value, unless it is all that the line has. */
static bool goes_on(const struct scan *s)
{
	const char *begin = behind_blanks(s, s->line), *end = s->end;

	if (end > begin && end[-1] == '\r')
		end--;
	return end > begin && end[-1] == '\\' &&
	       (end - 1 == begin || !isspace((unsigned char) end[-2]));
}

/* Whether the line is part of a secret that began before it. */
static bool is_rest(struct scan *s)
{
	size_t indent = strspn(s->line, " "), len = (size_t) (s->end - s->line);
	bool is_empty = strspn(s->line, " \t\r") >= len, is_next = s->next_line && !is_empty;

	if (s->in_pem) {
		s->in_pem = memmem(s->line, len, "-----END", 8) == NULL;
		return true;
	}
	if (!is_empty && is_quoted_rest(s)) {
		s->next_line = s->quote == '\0' && goes_on(s);
		put_blank(s);
		return true;
	}
	if (is_next) { /* between two items a comment is none */
		s->next_line = (s->is_item && s->line[indent] == '#') || goes_on(s);
		(void) value_end(s, s->line + strspn(s->line, " \t-:"), VALUE_WORD);
	}
	if (is_next && s->is_item && s->line[indent] == '-')
		s->below = (long) indent;
	else if (!is_empty && ends_below(s, indent))
		s->below = -1;
	if (is_empty ||
	    (!is_next && (s->below < 0 || ((long) indent <= s->below && says_nothing(s, indent)))))
		return false;
	put_blank(s);
	return true;
}

/* --- a text --- */

/* How often it says that something was blanked. */
static size_t count_blanks(const char *text, size_t len)
{
	const char *p = text, *end = text + len;
	size_t n = 0;

	while (p < end && (p = memmem(p, (size_t) (end - p), BLANK_TEXT, strlen(BLANK_TEXT))) != NULL) {
		p += strlen(BLANK_TEXT);
		n++;
	}
	return n;
}

char *blank_text(const char *text, size_t len, enum blank_format format, const struct texts *known,
                 size_t *n_blanked)
{
	AUTO(free) char *tree = NULL;
	AUTO(free) char *rest = NULL;
	size_t tree_len = len, rest_len, result_len = 0, before, after;
	char *result = NULL;
	struct scan s = {.format = format, .below = -1};

	if (format == BLANK_YAML)
		tree = blank_yaml(text, len, &tree_len);
	rest = blank_known(tree != NULL ? tree : text, tree_len, known, &rest_len);
	s.word_end = rest;
	s.out = xmemstream_open(&result, &result_len);
	for (s.line = rest; s.line < rest + rest_len; s.line = s.end + 1) {
		s.end = memchr(s.line, '\n', (size_t) (rest + rest_len - s.line));
		if (s.end == NULL)
			s.end = rest + rest_len;
		if (!is_rest(&s))
			scan_line(&s);
		if (s.end < rest + rest_len)
			(void) fputc('\n', s.out);
	}
	xmemstream_close(s.out);
	before = count_blanks(text, len);
	after = count_blanks(result, result_len);
	*n_blanked += after - MIN(before, after);
	return result;
}
