/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Runs of bytes that somebody else owns, and the numbers in them. bbolt's own numbers are in the
 * byte order of the machine that wrote the file: little-endian on all that Kubernetes runs on
 * (s390x is the exception, and its files are refused for their magic). etcd's keys are big-endian,
 * so that they sort. Nothing is assumed of alignment: an inline bucket begins where it happens to.
 * Pure.
 */

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/macro.h"

struct bytes {
	const uint8_t *data; /* borrowed; whoever hands it out says until when */
	size_t len;
};

static inline uint16_t bytes_le16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return le16toh(v);
}

static inline uint32_t bytes_le32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static inline uint64_t bytes_le64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static inline uint64_t bytes_be64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

/* The order of bbolt's keys: byte by byte, and a beginning before what goes on. */
static inline int bytes_compare(struct bytes a, struct bytes b)
{
	size_t n = MIN(a.len, b.len);
	int order = n > 0 ? memcmp(a.data, b.data, n) : 0;

	if (order != 0)
		return order;
	return a.len < b.len ? -1 : a.len > b.len;
}

static inline bool bytes_equal_text(struct bytes a, const char *text)
{
	return a.len == strlen(text) && (a.len == 0 || memcmp(a.data, text, a.len) == 0);
}

static inline struct bytes bytes_of_text(const char *text)
{
	return (struct bytes){.data = (const uint8_t *) text, .len = strlen(text)};
}

/*
 * The fields of a protobuf message, one after the other, within the bytes it is given; and the same
 * written. Groups, which proto3 does not have, are an error. Pure.
 */

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
