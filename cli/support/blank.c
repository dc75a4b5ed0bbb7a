/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes: first every known value goes, wherever it stands, then the rest is read line by line
 * for names, URLs, keys in PEM and tokens that can be told by their form.
 */
#include "cli/support/blank.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"

#define NAME_MAX_BYTES 96
#define BOOTSTRAP_TOKEN_BYTES 23 /* abcdef.0123456789abcdef */
#define WIREGUARD_KEY_BYTES 44   /* 32 bytes in base64 */
#define KNOWN_BUCKETS 1024
#define RANDOM_SEGMENT_BYTES 16 /* of a URL's path */

/* --- names ------------------------------------------------------------------------------------ */

static bool is_name_char(char c)
{
	return isalnum((unsigned char) c) || c == '_' || c == '-' || c == '.';
}

/* In lower case and without what stands between words: "secretKey" and "SECRET_KEY" are one. */
static void squeeze(const char *name, size_t len, char squeezed[static NAME_MAX_BYTES])
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 1 < NAME_MAX_BYTES; i++) {
		if (isalnum((unsigned char) name[i]))
			squeezed[n++] = (char) tolower((unsigned char) name[i]);
	}
	squeezed[n] = '\0';
}

static bool ends_in(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

bool blank_is_secret_name(const char *name, size_t len)
{
	static const char *const parts[] = {"password", "passwd",     "passphrase",   "secret",
	                                    "token",    "privatekey", "presharedkey", "accesskey",
	                                    "apikey",   "credential", "keydata",      "identity"};
	static const char *const of_files[] = {"file", "files", "path", "dir", "directory"};
	char squeezed[NAME_MAX_BYTES];

	squeeze(name, len, squeezed);
	for (size_t i = 0; i < ARRAY_SIZE(of_files); i++) {
		if (ends_in(squeezed, of_files[i]))
			return false;
	}
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (strstr(squeezed, parts[i]) != NULL)
			return true;
	}
	return false;
}

bool blank_is_secret_key(const char *key, size_t len)
{
	static const char *const whole[] = {"auth", "psk", "key", "content", "headers"};

	for (size_t i = 0; i < ARRAY_SIZE(whole); i++) {
		if (len == strlen(whole[i]) && strncasecmp(key, whole[i], len) == 0)
			return true;
	}
	return blank_is_secret_name(key, len);
}

/* --- what they look like ---------------------------------------------------------------------- */

static bool is_word_char(char c)
{
	return isalnum((unsigned char) c) || strchr("_-.+/=~", c) != NULL;
}

static bool is_base64(const char *word, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char) word[i]) && word[i] != '+' && word[i] != '/')
			return false;
	}
	return true;
}

static bool is_bootstrap_token(const char *word, size_t len)
{
	for (size_t i = 0; i < len && len == BOOTSTRAP_TOKEN_BYTES; i++) {
		if (i == 6 ? word[i] != '.'
		           : !islower((unsigned char) word[i]) && !isdigit((unsigned char) word[i]))
			return false;
	}
	return len == BOOTSTRAP_TOKEN_BYTES;
}

static bool looks_secret(const char *word, size_t len)
{
	static const struct {
		const char *begin;
		size_t min_len;
	} forms[] = {
	    {"AGE-SECRET-KEY-", 20},
	    {"whsec_", 12},
	    {"AKIA", 20},
	    {"ASIA", 20},
	    {"ghp_", 20},
	    {"gho_", 20},
	    {"xox", 20},
	    {"github_pat_", 20},
	    {"glpat-", 16},
	    {"eyJ", 30},
	    {"K10", 40},
	    {"LS0tLS1CRUdJTi", 16},
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (len >= forms[i].min_len && strncmp(word, forms[i].begin, strlen(forms[i].begin)) == 0)
			return true;
	}
	return is_bootstrap_token(word, len) ||
	       (len == WIREGUARD_KEY_BYTES && word[len - 1] == '=' && is_base64(word, len - 1));
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

	if (looks_secret(p, len)) {
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

/* --- known values ----------------------------------------------------------------------------- */

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

static char *blank_known(const char *text, size_t len, const struct texts *known, size_t *ret_len,
                         size_t *n_blanked)
{
	struct known_index index;
	char *result = NULL;
	FILE *out = open_memstream(&result, ret_len);

	index_known(&index, known);
	for (size_t i = 0; i < len;) {
		size_t n = known_at(&index, text + i, len - i);

		if (n > 0) {
			(void) fputs(BLANK_TEXT, out);
			(*n_blanked)++;
			i += n;
		} else {
			(void) fputc(text[i] != '\0' ? text[i] : '?', out);
			i++;
		}
	}
	(void) fclose(out);
	free(index.next);
	return result;
}

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
