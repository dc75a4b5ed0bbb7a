/* SPDX-License-Identifier: Apache-2.0 */
/* Reads from the front of what is left; nothing is looked at that was not measured before. */
#include "bolt/proto.h"

#include <errno.h>

#define NUMBER_MAX 0x1fffffffu

/* Takes n bytes off the front; false if there are fewer. */
static bool take(struct bytes *rest, uint64_t n, struct bytes *ret_taken)
{
	if (n > rest->len)
		return false;
	*ret_taken = (struct bytes){.data = rest->data, .len = (size_t) n};
	rest->data += n;
	rest->len -= (size_t) n;
	return true;
}

static bool take_varint(struct bytes *rest, uint64_t *ret_v)
{
	uint64_t v = 0;

	/* Nearly all of them: tags, and lengths and numbers below 128. */
	if (rest->len > 0 && rest->data[0] < 0x80) {
		*ret_v = rest->data[0];
		rest->data++;
		rest->len--;
		return true;
	}
	for (unsigned shift = 0; shift < 64; shift += 7) {
		struct bytes b;

		/* The tenth byte has room for one bit. */
		if (!take(rest, 1, &b) || (shift == 63 && b.data[0] > 1))
			return false;
		v |= (uint64_t) (b.data[0] & 0x7f) << shift;
		if ((b.data[0] & 0x80) == 0) {
			*ret_v = v;
			return true;
		}
	}
	return false;
}

static bool take_content(struct bytes *rest, struct proto_field *field)
{
	uint64_t len;

	switch (field->type) {
	case PROTO_VARINT:
		return take_varint(rest, &field->integer);
	case PROTO_FIXED64:
		return take(rest, 8, &field->bytes);
	case PROTO_BYTES:
		return take_varint(rest, &len) && take(rest, len, &field->bytes);
	case PROTO_FIXED32:
		return take(rest, 4, &field->bytes);
	}
	return false;
}

int proto_next(struct bytes *rest, struct proto_field *ret_field)
{
	struct proto_field field = {0};
	struct bytes left = *rest;
	uint64_t tag;

	if (left.len == 0)
		return 0;
	if (!take_varint(&left, &tag) || tag >> 3 == 0 || tag >> 3 > NUMBER_MAX)
		return -EBADMSG;
	field.number = (uint32_t) (tag >> 3);
	field.type = (enum proto_type)(tag & 7);
	if (!take_content(&left, &field))
		return -EBADMSG;
	*rest = left;
	*ret_field = field;
	return 1;
}
