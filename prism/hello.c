/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame of a ClientHello and nothing inside it: records of type "handshake" (RFC 8446, section
 * 5.1), over one or more of which the message is spread, which begins with its type and its length
 * (section 4).
 */
#include "prism/hello.h"

#include <stdint.h>

#include "base/macro.h"

#define RECORD_HEADER_BYTES 5
#define RECORD_HANDSHAKE 22
#define RECORD_MAJOR_VERSION 3
#define RECORD_MAX_BYTES 16384
#define MESSAGE_HEADER_BYTES 4
#define MESSAGE_CLIENT_HELLO 1

/* The header of the message may itself be spread over records. */
struct message {
	uint8_t header[MESSAGE_HEADER_BYTES];
	size_t len; /* bytes of it so far, header included */
};

static void take(struct message *m, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; m->len + i < MESSAGE_HEADER_BYTES && i < len; i++)
		m->header[m->len + i] = bytes[i];
	m->len += len;
}

static enum hello judge(const struct message *m)
{
	size_t body;

	if (m->len > 0 && m->header[0] != MESSAGE_CLIENT_HELLO)
		return HELLO_FOREIGN;
	if (m->len < MESSAGE_HEADER_BYTES)
		return HELLO_PART;
	body = (size_t) m->header[1] << 16 | (size_t) m->header[2] << 8 | m->header[3];
	return m->len >= MESSAGE_HEADER_BYTES + body ? HELLO_WHOLE : HELLO_PART;
}

enum hello hello_look(const char *first, size_t len)
{
	const uint8_t *at = (const uint8_t *) first, *end = at + len;
	struct message message = {.len = 0};
	enum hello hello = HELLO_PART;

	while (at < end && hello == HELLO_PART) {
		size_t size;

		if (at[0] != RECORD_HANDSHAKE || (end - at > 1 && at[1] != RECORD_MAJOR_VERSION))
			return HELLO_FOREIGN;
		if (end - at < RECORD_HEADER_BYTES)
			return HELLO_PART;
		size = (size_t) at[3] << 8 | at[4];
		if (size == 0 || size > RECORD_MAX_BYTES)
			return HELLO_FOREIGN;
		at += RECORD_HEADER_BYTES;
		take(&message, at, MIN(size, (size_t) (end - at)));
		at += MIN(size, (size_t) (end - at));
		hello = judge(&message);
	}
	return hello;
}
