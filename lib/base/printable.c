/* SPDX-License-Identifier: Apache-2.0 */
/* What others wrote, on its way to a terminal or a log. */
#include "base/printable.h"

#include <stdbool.h>

uint32_t printable_utf8_next(const char *text, size_t *ret_len)
{
	const unsigned char *p = (const unsigned char *) text;
	uint32_t c;
	size_t len;

	*ret_len = 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return p[0];
	len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	c = p[0] & (0xffu >> (len + 1));
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return p[0];
		c = c << 6 | (p[i] & 0x3f);
	}
	*ret_len = len;
	return c;
}

bool printable_is_hidden(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

void printable_write_json(FILE *out, const char *json)
{
	size_t len;

	for (const char *p = json; *p != '\0'; p += len) {
		uint32_t c = printable_utf8_next(p, &len);

		/* JSON itself escapes what is below in a string; between values it is white space. */
		if (c >= 0x7f && printable_is_hidden(c))
			(void) fprintf(out, "\\u%04x", c);
		else
			(void) fwrite(p, 1, len, out);
	}
}

/* A C1 control is c2 and 80 to 9f in UTF-8; 9b alone would be one in Latin-1, but in UTF-8 it may
 * belong to a letter. */
void printable_blank(char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char) text[i];
		unsigned char next = i + 1 < len ? (unsigned char) text[i + 1] : 0;
		bool c1 = c == 0xc2 && next >= 0x80 && next < 0xa0;

		if (c < 0x20 || c == 0x7f || c1)
			text[i] = ' ';
		if (c1)
			text[++i] = ' ';
	}
}

void printable_ascii(char *text)
{
	for (char *p = text; *p != '\0'; p++) {
		if (*p < ' ' || *p >= 0x7f)
			*p = '?';
	}
}

bool printable_is_word(const char *text)
{
	for (const char *p = text; *p != '\0'; p++) {
		if (*p <= ' ' || *p >= 0x7f)
			return false;
	}
	return true;
}
