/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cursor over the bytes; each reader advances it, and fails without looking behind the end. A
 * field that comes twice counts as it came last, as protobuf has it.
 */
#include "etcd/snapshot_message.h"

#include <errno.h>

#define FIELD_REMAINING_BYTES 2
#define FIELD_BLOB 3
#define FIELD_VERSION 4

#define VARINT_BYTES_MAX 10

enum wire_type {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_BYTES = 2,
	WIRE_FIXED32 = 5,
};

struct cursor {
	const uint8_t *at;
	const uint8_t *end;
};

static int read_varint(struct cursor *c, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < VARINT_BYTES_MAX && c->at < c->end; i++) {
		uint8_t byte = *c->at++;

		value |= (uint64_t) (byte & 0x7f) << (7 * i);
		if ((byte & 0x80) == 0) {
			*ret_value = value;
			return 0;
		}
	}
	return -EPROTO;
}

static int skip(struct cursor *c, uint64_t len)
{
	if (len > (size_t) (c->end - c->at))
		return -EPROTO;
	c->at += len;
	return 0;
}

static int read_bytes(struct cursor *c, const uint8_t **ret_data, size_t *ret_len)
{
	uint64_t len;
	int r;

	r = read_varint(c, &len);
	if (r < 0)
		return r;
	r = skip(c, len);
	if (r < 0)
		return r;
	*ret_data = c->at - len;
	*ret_len = (size_t) len;
	return 0;
}

static int skip_field(struct cursor *c, unsigned wire_type)
{
	const uint8_t *data;
	uint64_t value;
	size_t len;

	switch (wire_type) {
	case WIRE_VARINT:
		return read_varint(c, &value);
	case WIRE_FIXED64:
		return skip(c, sizeof(uint64_t));
	case WIRE_BYTES:
		return read_bytes(c, &data, &len);
	case WIRE_FIXED32:
		return skip(c, sizeof(uint32_t));
	default:
		return -EPROTO;
	}
}

static int read_field(struct cursor *c, struct snapshot_message *m)
{
	const uint8_t *data;
	uint64_t tag;
	size_t len;
	int r;

	r = read_varint(c, &tag);
	if (r < 0)
		return r;
	switch (tag) {
	case FIELD_REMAINING_BYTES << 3 | WIRE_VARINT:
		return read_varint(c, &m->remaining_bytes);
	case FIELD_BLOB << 3 | WIRE_BYTES:
		r = read_bytes(c, &data, &len);
		if (r < 0)
			return r;
		m->blob = data;
		m->blob_len = len;
		return 0;
	case FIELD_VERSION << 3 | WIRE_BYTES:
		r = read_bytes(c, &data, &len);
		if (r < 0)
			return r;
		m->version = (const char *) data;
		m->version_len = len;
		return 0;
	default:
		break;
	}
	switch (tag >> 3) {
	case 0:
	case FIELD_REMAINING_BYTES:
	case FIELD_BLOB:
	case FIELD_VERSION:
		/* No field, or one of ours of another type. */
		return -EPROTO;
	default:
		return skip_field(c, tag & 7);
	}
}

int snapshot_message_parse(const void *data, size_t len, struct snapshot_message *ret_message)
{
	struct snapshot_message m = {.blob = "", .version = ""};
	struct cursor c = {data, (const uint8_t *) data + len};
	int r;

	while (c.at < c.end) {
		r = read_field(&c, &m);
		if (r < 0)
			return r;
	}
	*ret_message = m;
	return 0;
}
