/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The bytes of a stream of gRPC, and the messages in them: a byte that is 1 where the message is
 * compressed, four for its length, the highest first, and the message
 * (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md). Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INBOX_HEAD_BYTES 5 /* before each message */

struct inbox {
	size_t max_bytes;         /* that may be in it */
	size_t message_max_bytes; /* without its head; with it, at most max_bytes */
	uint8_t *bytes;           /* twice as many, so that they are seldom moved */
	size_t begin;
	size_t end;
};

void inbox_init(struct inbox *inbox, size_t max_bytes, size_t message_max_bytes);
void inbox_fini(struct inbox *inbox);

/* False, and nothing added: it would be more than max_bytes. */
bool inbox_add(struct inbox *inbox, const void *data, size_t len);

struct inbox_message {
	const uint8_t *data; /* in the inbox: until the next inbox_add() */
	size_t len;
	size_t taken_bytes; /* with its head */
};

enum inbox_found {
	INBOX_NONE, /* a whole one: more has to come */
	INBOX_MESSAGE,
	INBOX_COMPRESSED, /* which nobody has asked for */
	INBOX_TOO_LONG,   /* ret_message has the length alone */
};

/* Takes the first message out. */
enum inbox_found inbox_take(struct inbox *inbox, struct inbox_message *ret_message);
bool inbox_is_empty(const struct inbox *inbox);
