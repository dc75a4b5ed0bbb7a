/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text on its way out: into messages, where nothing may act on a terminal, and into YAML, where it
 * must read back as it was. Texts are valid UTF-8, since libyaml refuses anything else; a stray
 * byte (a file name can hold one) is written as \xNN.
 */
#include "base/conf_priv.h"

#include <ctype.h>
#include <string.h>

#include "base/printable.h"

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

void conf_print_duration(FILE *out, const char *key, int64_t us)
{
	char text[CONF_DURATION_TEXT_MAX];

	(void) fprintf(out, "%s: %s\n", key, conf_format_duration(us, text));
}

void conf_print_bytes(FILE *out, const char *key, int64_t bytes)
{
	char text[CONF_BYTES_TEXT_MAX];

	(void) fprintf(out, "%s: %s\n", key, conf_format_bytes(bytes, text));
}
