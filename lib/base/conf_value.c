/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scalars: what a text means, once the target's type is known; and text on its way out, into
 * messages, where nothing may act on a terminal, and into YAML, where it must read back as it was.
 * Texts are valid UTF-8, since libyaml refuses anything else; a stray byte (a file name can hold
 * one) is written as \\xNN.
 */
#include "base/conf_priv.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/mono.h"
#include "base/printable.h"

/* --- integers and booleans --- */

int conf_parse_int(const char *text, int64_t *ret_value)
{
	bool negative = text[0] == '-';
	const char *p = text + negative;
	int64_t value = 0;

	if (*p == '\0' || (p[0] == '0' && (p[1] != '\0' || negative)))
		return -EINVAL;
	for (const char *q = p; *q != '\0'; q++) {
		if (*q < '0' || *q > '9')
			return -EINVAL;
	}
	for (; *p != '\0'; p++) {
		int digit = *p - '0';

		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, negative ? -digit : digit, &value))
			return -ERANGE;
	}
	*ret_value = value;
	return 0;
}

int conf_parse_bool(const char *text, bool *ret_value)
{
	static const char *const yes[] = {"true", "True", "TRUE", "yes", "Yes", "YES",
	                                  "on",   "On",   "ON",   "y",   "Y"};
	static const char *const no[] = {"false", "False", "FALSE", "no", "No", "NO",
	                                 "off",   "Off",   "OFF",   "n",  "N"};

	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0) {
			*ret_value = strcmp(text, yes[i]) == 0;
			return 0;
		}
	}
	return -EINVAL;
}

/* --- durations --- */

struct unit {
	const char *name;
	int64_t ns;
};

static const struct unit units[] = {
    /* The two spellings of micro are two characters: U+00B5 and U+03BC. */
    {"ns", 1},
    {"us", 1000},
    {"\xc2\xb5s", 1000},
    {"\xce\xbcs", 1000},
    {"ms", 1000 * US_PER_MS},
    {"s", 1000 * US_PER_S},
    {"m", 60 * 1000 * US_PER_S},
    {"h", 3600 * 1000 * US_PER_S},
};

/* The unit's name ends where the next number begins. */
static const struct unit *parse_unit(const char **text)
{
	size_t len = strcspn(*text, ".0123456789");

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strlen(units[i].name) == len && memcmp(units[i].name, *text, len) == 0) {
			*text += len;
			return &units[i];
		}
	}
	return NULL;
}

/* 128 bits: the finest fraction of the largest unit, and sums of those, fit without thought. */
static int parse_term(const char **text, __int128 *ret_ns)
{
	const char *p = *text;
	__int128 whole = 0, fraction = 0, scale = 1;
	const struct unit *unit;
	bool any = false;
	__int128 rest;

	for (; *p >= '0' && *p <= '9'; p++, any = true) {
		whole = whole * 10 + (*p - '0');
		if (whole > INT64_MAX)
			return -ERANGE;
	}
	if (*p == '.') {
		for (p++; *p >= '0' && *p <= '9'; p++, any = true) {
			if (scale > INT64_C(1000000000000000))
				return -EDOM;
			fraction = fraction * 10 + (*p - '0');
			scale *= 10;
		}
	}
	if (!any)
		return -EINVAL;
	unit = parse_unit(&p);
	if (unit == NULL)
		return -EINVAL;
	rest = fraction * unit->ns;
	if (rest % scale != 0)
		return -EDOM;
	*ret_ns = whole * unit->ns + rest / scale;
	*text = p;
	return 0;
}

int conf_parse_duration(const char *text, int64_t *ret_us)
{
	bool negative = text[0] == '-';
	const char *p = text + (text[0] == '-' || text[0] == '+');
	__int128 total = 0;
	int r;

	if (strcmp(p, "0") == 0) {
		*ret_us = 0;
		return 0;
	}
	if (*p == '\0')
		return -EINVAL;
	while (*p != '\0') {
		__int128 ns;

		r = parse_term(&p, &ns);
		if (r < 0)
			return r;
		total += ns;
		/* Go's limit, 292 years; also what keeps the sum from overflowing. */
		if (total > INT64_MAX)
			return -ERANGE;
	}
	if (total % 1000 != 0)
		return -EDOM;
	*ret_us = (int64_t) (negative ? -total / 1000 : total / 1000);
	return 0;
}

const char *conf_format_duration(int64_t us, char buf[static CONF_DURATION_TEXT_MAX])
{
	uint64_t left = us < 0 ? (uint64_t) 0 - (uint64_t) us : (uint64_t) us;
	const uint64_t per_s = (uint64_t) US_PER_S, per_ms = (uint64_t) US_PER_MS;
	FILE *out = fmemopen(buf, CONF_DURATION_TEXT_MAX, "w");

	buf[0] = '\0';
	if (out == NULL)
		return buf;
	if (us < 0)
		(void) fputc('-', out);
	if (left == 0)
		(void) fputs("0s", out);
	if (left > 0 && left < per_s) {
		if (left % per_ms == 0)
			(void) fprintf(out, "%llums", (unsigned long long) (left / per_ms));
		else
			(void) fprintf(out, "%lluus", (unsigned long long) left);
		left = 0;
	}
	if (left >= 3600 * per_s)
		(void) fprintf(out, "%lluh", (unsigned long long) (left / (3600 * per_s)));
	left %= 3600 * per_s;
	if (left >= 60 * per_s)
		(void) fprintf(out, "%llum", (unsigned long long) (left / (60 * per_s)));
	left %= 60 * per_s;
	if (left > 0) {
		unsigned fraction = (unsigned) (left % per_s);
		int digits = 6;

		(void) fprintf(out, "%llu", (unsigned long long) (left / per_s));
		for (; fraction > 0 && fraction % 10 == 0; digits--)
			fraction /= 10;
		if (fraction > 0)
			(void) fprintf(out, ".%0*u", digits, fraction);
		(void) fputc('s', out);
	}
	(void) fclose(out);
	return buf;
}

/* --- sizes --- */

static const struct {
	const char *name;
	int64_t bytes;
} sizes[] = {
    {"TiB", INT64_C(1) << 40},
    {"GiB", INT64_C(1) << 30},
    {"MiB", INT64_C(1) << 20},
    {"KiB", INT64_C(1) << 10},
    {"", 1},
    {"B", 1},
    {"Ti", INT64_C(1) << 40},
    {"Gi", INT64_C(1) << 30},
    {"Mi", INT64_C(1) << 20},
    {"Ki", INT64_C(1) << 10},
    {"TB", INT64_C(1000000000000)},
    {"GB", INT64_C(1000000000)},
    {"MB", INT64_C(1000000)},
    {"kB", INT64_C(1000)},
};

int conf_parse_bytes(const char *text, int64_t *ret_bytes)
{
	size_t digits = strspn(text, "0123456789");
	char number[24];
	int64_t bytes;
	int r;

	if (digits >= sizeof(number))
		return -ERANGE;
	memcpy(number, text, digits);
	number[digits] = '\0';
	r = conf_parse_int(number, &bytes);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		if (strcmp(sizes[i].name, text + digits) != 0)
			continue;
		if (__builtin_mul_overflow(bytes, sizes[i].bytes, &bytes))
			return -ERANGE;
		*ret_bytes = bytes;
		return 0;
	}
	return -EINVAL;
}

const char *conf_format_bytes(int64_t bytes, char buf[static CONF_BYTES_TEXT_MAX])
{
	size_t unit = 0;

	while (sizes[unit].bytes > 1 && (bytes == 0 || bytes % sizes[unit].bytes != 0))
		unit++;
	(void) snprintf(buf, CONF_BYTES_TEXT_MAX, "%lld%s", (long long) (bytes / sizes[unit].bytes),
	                sizes[unit].name);
	return buf;
}

/* --- text on its way out --- */

/* As YAML's double quotes spell it, which people can read too. */
static void write_escaped(FILE *out, uint32_t c)
{
	if (c == '\n')
		(void) fputs("\\n", out);
	else if (c == '\t')
		(void) fputs("\\t", out);
	else if (c < 0x100)
		(void) fprintf(out, "\\x%02x", c);
	else if (c < 0x10000)
		(void) fprintf(out, "\\u%04x", c);
	else
		(void) fprintf(out, "\\U%08x", c);
}

void conf_write_visible(FILE *out, const char *text, size_t max_bytes)
{
	size_t len;

	for (const char *p = text; *p != '\0'; p += len) {
		uint32_t c = printable_utf8_next(p, &len);

		if ((size_t) (p - text) + len > max_bytes) {
			(void) fputs("...", out);
			return;
		}
		if (printable_is_hidden(c) || (len == 1 && c >= 0x80))
			write_escaped(out, c);
		else
			(void) fwrite(p, 1, len, out);
	}
}

/* Words, paths, names, addresses of IPv4: what no YAML reader takes for anything but a string, or
 * what ours takes for a string because its target is one. */
static bool is_plain(const char *text)
{
	static const char *const words[] = {"null", "true", "false", "yes", "no",
	                                    "on",   "off",  "y",     "n"};

	if (!isalpha((unsigned char) text[0]) && text[0] != '/')
		return false;
	for (const char *p = text; *p != '\0'; p++) {
		if (!isalnum((unsigned char) *p) && strchr("/._-", *p) == NULL)
			return false;
	}
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcasecmp(text, words[i]) == 0)
			return false;
	}
	return true;
}

void conf_write_string(FILE *out, const char *text)
{
	size_t len;

	if (is_plain(text)) {
		(void) fputs(text, out);
		return;
	}
	(void) fputc('"', out);
	for (const char *p = text; *p != '\0'; p += len) {
		uint32_t c = printable_utf8_next(p, &len);

		if (c == '"' || c == '\\')
			(void) fprintf(out, "\\%c", (char) c);
		else if (c >= 0x20 && c < 0x7f)
			(void) fputc((int) c, out);
		else
			write_escaped(out, c);
	}
	(void) fputc('"', out);
}

/* --- lines --- */

void conf_print_header(FILE *out, const char *api, const char *kind)
{
	(void) fprintf(out, "---\napiVersion: %s\nkind: %s\n", api, kind);
}

void conf_print_string(FILE *out, const char *key, const char *value)
{
	if (value == NULL)
		return;
	(void) fprintf(out, "%s: ", key);
	conf_write_string(out, value);
	(void) fputc('\n', out);
}

void conf_print_bool(FILE *out, const char *key, bool value)
{
	(void) fprintf(out, "%s: %s\n", key, value ? "true" : "false");
}
