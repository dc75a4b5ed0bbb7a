/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Walks through the record, the handshake message, the ClientHello and its extensions, each a part
 * with its length in front. A part that is longer than what holds it makes it no ClientHello.
 */

#include "hello.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/macro.h"

#define RECORD_HANDSHAKE 22
#define CLIENT_HELLO 1
#define EXTENSION_SERVER_NAME 0

struct part {
	const uint8_t *bytes;
	size_t len;
};

static bool take(struct part *from, size_t len, struct part *ret_part)
{
	if (from->len < len)
		return false;
	*ret_part = (struct part){from->bytes, len};
	from->bytes += len;
	from->len -= len;
	return true;
}

static size_t number(const struct part *part)
{
	size_t value = 0;

	for (size_t i = 0; i < part->len; i++)
		value = value << 8 | part->bytes[i];
	return value;
}

/* A length of `width` bytes, then so much. */
static bool take_counted(struct part *from, size_t width, struct part *ret_part)
{
	struct part len;

	return take(from, width, &len) && take(from, number(&len), ret_part);
}

/* The extension's data: a list of names, each with its type; the first host name counts. */
static void copy_name(struct part data, char ret_name[static HELLO_NAME_MAX])
{
	struct part list, type, name;

	if (!take_counted(&data, 2, &list) || !take(&list, 1, &type) ||
	    !take_counted(&list, 2, &name) || name.len >= HELLO_NAME_MAX)
		return;
	memcpy(ret_name, name.bytes, name.len);
	ret_name[name.len] = '\0';
}

static bool read_hello(struct part hello, char ret_name[static HELLO_NAME_MAX])
{
	struct part skipped, extensions, type, data;

	/* Version and random, then session id, cipher suites, compression methods. */
	if (!take(&hello, 2 + 32, &skipped) || !take_counted(&hello, 1, &skipped) ||
	    !take_counted(&hello, 2, &skipped) || !take_counted(&hello, 1, &skipped))
		return false;
	ret_name[0] = '\0';
	if (!take_counted(&hello, 2, &extensions))
		return true;
	while (take(&extensions, 2, &type) && take_counted(&extensions, 2, &data))
		if (number(&type) == EXTENSION_SERVER_NAME)
			copy_name(data, ret_name);
	return true;
}

enum hello_verdict hello_read(const void *bytes, size_t len, char ret_name[static HELLO_NAME_MAX])
{
	/* -1: the minor version, and the length. */
	static const int begin[] = {RECORD_HANDSHAKE, 3, -1, -1, -1, CLIENT_HELLO};
	struct part all = {bytes, len};
	struct part head, record, type, hello;

	if (len == 0)
		return HELLO_INCOMPLETE;
	/* Told apart as early as can be: bytes that only begin like one would be waited for in vain. */
	for (size_t i = 0; i < MIN(len, ARRAY_SIZE(begin)); i++)
		if (begin[i] >= 0 && all.bytes[i] != begin[i])
			return HELLO_OTHER;
	if (!take(&all, 3, &head) || !take_counted(&all, 2, &record))
		return HELLO_INCOMPLETE;
	if (!take(&record, 1, &type) || !take_counted(&record, 3, &hello) ||
	    !read_hello(hello, ret_name))
		return HELLO_OTHER;
	return HELLO_TLS;
}
