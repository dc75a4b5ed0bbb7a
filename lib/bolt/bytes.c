/* SPDX-License-Identifier: Apache-2.0 */
#include "bolt/bytes.h"

/* --- proto --- */

/* The numbers that need more than one byte: seven bits in each, the lowest first. */

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

static size_t put_varint(uint8_t *p, uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		p[n++] = (uint8_t) (v | 0x80);
	p[n++] = (uint8_t) v;
	return n;
}

static size_t put_tag(uint8_t *p, uint32_t number, enum proto_type type)
{
	return put_varint(p, (uint64_t) number << 3 | type);
}

size_t proto_put_integer(uint8_t *p, uint32_t number, uint64_t v)
{
	size_t n;

	if (v == 0)
		return 0;
	n = put_tag(p, number, PROTO_VARINT);
	return n + put_varint(p + n, v);
}

size_t proto_put_bytes(uint8_t *p, uint32_t number, struct bytes bytes)
{
	size_t n;

	if (bytes.len == 0)
		return 0;
	n = put_tag(p, number, PROTO_BYTES);
	n += put_varint(p + n, bytes.len);
	memcpy(p + n, bytes.data, bytes.len);
	return n + bytes.len;
}
