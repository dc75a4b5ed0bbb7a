/* SPDX-License-Identifier: Apache-2.0 */
/* The checksum is a remainder of polynomials over GF(32), which the standard chose to be 1. */
#include "etcdwatch/config/bech32.h"

#include <stdint.h>
#include <string.h>

#define CHECKSUM_CHARS 6

static uint32_t step(uint32_t sum, unsigned value)
{
	static const uint32_t generators[] = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd,
	                                      0x2a1462b3};
	uint32_t top = sum >> 25;

	sum = (sum & 0x1ffffff) << 5 ^ value;
	for (unsigned i = 0; i < 5; i++) {
		if ((top >> i & 1) != 0)
			sum ^= generators[i];
	}
	return sum;
}

bool bech32_is_good(const char *text, size_t *ret_name_len)
{
	static const char digits[] = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
	const char *separator = strrchr(text, '1');
	size_t name_len = separator != NULL ? (size_t) (separator - text) : 0;
	uint32_t sum = 1;

	if (name_len == 0 || strlen(separator + 1) < CHECKSUM_CHARS)
		return false;
	for (size_t i = 0; i < name_len; i++) {
		if (text[i] <= ' ' || text[i] >= 0x7f || (text[i] >= 'A' && text[i] <= 'Z'))
			return false;
		sum = step(sum, (unsigned char) text[i] >> 5);
	}
	sum = step(sum, 0);
	for (size_t i = 0; i < name_len; i++)
		sum = step(sum, (unsigned char) text[i] & 31);
	for (const char *p = separator + 1; *p != '\0'; p++) {
		const char *digit = strchr(digits, *p);

		if (digit == NULL)
			return false;
		sum = step(sum, (unsigned) (digit - digits));
	}
	if (sum != 1)
		return false;
	*ret_name_len = name_len;
	return true;
}
