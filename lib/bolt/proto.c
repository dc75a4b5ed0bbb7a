/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers that need more than one byte: seven bits in each, the lowest first. */
#include "bolt/proto.h"

unsigned proto_read_varint(struct bytes rest, uint64_t *ret_v)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < rest.len && i < 10; i++) {
		uint8_t byte = rest.data[i];

		/* The tenth has room for one bit. */
		if (i == 9 && byte > 1)
			return 0;
		v |= (uint64_t) (byte & 0x7f) << (7 * i);
		if ((byte & 0x80) == 0) {
			*ret_v = v;
			return i + 1;
		}
	}
	return 0;
}
