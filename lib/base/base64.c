/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 both ways. A text has one meaning or is refused. Pure. */
#include "base/base64.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int value_of(char c)
{
	const char *at = c != '\0' ? strchr(digits, c) : NULL;

	return at != NULL ? (int) (at - digits) : -1;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

int base64_decode(const char *text, char **ret_data, size_t *ret_len)
{
	AUTO(free) char *data = xcalloc(strlen(text) / 4 * 3 + 4, 1);
	size_t len = 0, n = 0, padding = 0;
	uint32_t bits = 0; /* of the group so far */

	for (const char *p = text; *p != '\0'; p++) {
		int value = value_of(*p);

		if (is_space(*p))
			continue;
		if (*p == '=')
			padding++;
		else if (value < 0 || padding > 0)
			return -EINVAL;
		bits = bits << 6 | (uint32_t) (*p == '=' ? 0 : value);
		if (++n % 4 != 0)
			continue;
		data[len] = (char) (bits >> 16 & 0xff);
		data[len + 1] = (char) (bits >> 8 & 0xff);
		data[len + 2] = (char) (bits & 0xff);
		len += 3;
		if (padding == 0)
			bits = 0;
	}
	if (n % 4 != 0 || padding > 2)
		return -EINVAL;
	/* What the padding stands for must be zero, or two texts would mean the same. */
	if ((bits & ((UINT32_C(1) << padding * 8) - 1)) != 0)
		return -EINVAL;
	len -= padding;
	data[len] = '\0';
	*ret_data = TAKE_PTR(data);
	*ret_len = len;
	return 0;
}

char *base64_encode(const void *data, size_t len)
{
	const uint8_t *p = data;
	char *text = xcalloc((len + 2) / 3 * 4 + 1, 1);
	size_t n = 0;

	for (size_t i = 0; i < len; i += 3) {
		uint32_t bits = (uint32_t) p[i] << 16;

		bits |= i + 1 < len ? (uint32_t) p[i + 1] << 8 : 0;
		bits |= i + 2 < len ? (uint32_t) p[i + 2] : 0;
		text[n++] = digits[bits >> 18];
		text[n++] = digits[bits >> 12 & 63];
		text[n++] = i + 1 < len ? digits[bits >> 6 & 63] : '=';
		text[n++] = i + 2 < len ? digits[bits & 63] : '=';
	}
	return text;
}
