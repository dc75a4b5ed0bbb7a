/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The fields of a protobuf message, one after the other, within the bytes it is given; and the same
 * written. Groups, which proto3 does not have, are an error. Pure.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "bolt/bytes.h"

#define PROTO_NUMBER_MAX 0x1fffffffu

enum proto_type {
	PROTO_VARINT = 0,
	PROTO_FIXED64 = 1,
	PROTO_BYTES = 2,
	PROTO_FIXED32 = 5,
};

struct proto_field {
	uint32_t number;
	enum proto_type type;
	uint64_t integer;   /* of a varint */
	struct bytes bytes; /* of any other; borrowed from the message */
};

/* How many bytes, from the front of `rest`, the varint has that begins there; 0: it is none. */
unsigned proto_read_varint(struct bytes rest, uint64_t *ret_v);

/* Takes n bytes off the front; false if there are fewer. */
static ALWAYS_INLINE bool proto_take_bytes(struct bytes *rest, uint64_t n, struct bytes *ret_taken)
{
	if (n > rest->len)
		return false;
	*ret_taken = (struct bytes){.data = rest->data, .len = (size_t) n};
	rest->data += n;
	rest->len -= (size_t) n;
	return true;
}

static ALWAYS_INLINE bool proto_take_varint(struct bytes *rest, uint64_t *ret_v)
{
	unsigned n_bytes = 1;
	uint64_t v = 0;

	/* Nearly all of them: tags, and lengths and numbers below 128; and most of the others. */
	if (rest->len >= 1 && rest->data[0] < 0x80)
		v = rest->data[0];
	else if (rest->len >= 2 && rest->data[1] < 0x80) {
		v = (rest->data[0] & 0x7fu) | (uint64_t) rest->data[1] << 7;
		n_bytes = 2;
	} else
		n_bytes = proto_read_varint(*rest, &v);
	if (n_bytes == 0)
		return false;
	*ret_v = v;
	rest->data += n_bytes;
	rest->len -= n_bytes;
	return true;
}

static ALWAYS_INLINE bool proto_take_content(struct bytes *rest, enum proto_type type,
                                             uint64_t *ret_integer, struct bytes *ret_bytes)
{
	uint64_t len;

	switch (type) {
	case PROTO_VARINT:
		return proto_take_varint(rest, ret_integer);
	case PROTO_FIXED64:
		return proto_take_bytes(rest, 8, ret_bytes);
	case PROTO_BYTES:
		return proto_take_varint(rest, &len) && proto_take_bytes(rest, len, ret_bytes);
	case PROTO_FIXED32:
		return proto_take_bytes(rest, 4, ret_bytes);
	}
	return false;
}

/* 1 and the next field, which is taken off the front of *rest; 0 at the end; -EBADMSG. Every entry
 * of a database passes here several times: inline, so that nothing of it goes through memory. */
static ALWAYS_INLINE int proto_next(struct bytes *rest, struct proto_field *ret_field)
{
	struct bytes left = *rest, bytes = {0};
	uint64_t tag, integer = 0;

	if (left.len == 0)
		return 0;
	if (!proto_take_varint(&left, &tag) || tag >> 3 == 0 || tag >> 3 > PROTO_NUMBER_MAX ||
	    !proto_take_content(&left, (enum proto_type)(tag & 7), &integer, &bytes))
		return -EBADMSG;
	*ret_field = (struct proto_field){.number = (uint32_t) (tag >> 3),
	                                  .type = (enum proto_type)(tag & 7),
	                                  .integer = integer,
	                                  .bytes = bytes};
	*rest = left;
	return 1;
}

/* --- writing: each returns how many bytes it has written, and what is zero or empty is left out as
 * proto3 does --- */

#define PROTO_VARINT_BYTES_MAX 10
#define PROTO_TAG_BYTES_MAX 5

size_t proto_put_integer(uint8_t *p, uint32_t number, uint64_t v);
size_t proto_put_bytes(uint8_t *p, uint32_t number, struct bytes bytes);
