/* SPDX-License-Identifier: Apache-2.0 */
/* A C1 control is c2 and 80 to 9f in UTF-8; 9b alone would be one in Latin-1, but in UTF-8 it may
 * belong to a letter. */
#include "base/printable.h"

#include <stdbool.h>

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
