/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of bytes in a buffer twice as long as the run may be. It is moved to the front when as
 * much as it has, or more, has been taken out before it: no byte is moved twice on average, the
 * buffer's end is never reached, and of who is read at once only the beginning is ever touched.
 */
#include "etcd/inbox.h"

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"

#define MOVE_AT_BYTES ((size_t) 64 << 10)

void inbox_init(struct inbox *inbox, size_t max_bytes, size_t message_max_bytes)
{
	*inbox = (struct inbox){.max_bytes = max_bytes,
	                        .message_max_bytes = message_max_bytes,
	                        .bytes = xcalloc(2, max_bytes)};
}

void inbox_fini(struct inbox *inbox)
{
	free(inbox->bytes);
	*inbox = (struct inbox){0};
}

bool inbox_add(struct inbox *inbox, const void *data, size_t len)
{
	size_t held = inbox->end - inbox->begin;

	if (len > inbox->max_bytes - held)
		return false;
	if (inbox->begin >= MAX(held, MIN(MOVE_AT_BYTES, inbox->max_bytes))) {
		memmove(inbox->bytes, inbox->bytes + inbox->begin, held);
		inbox->begin = 0;
		inbox->end = held;
	}
	memcpy(inbox->bytes + inbox->end, data, len);
	inbox->end += len;
	return true;
}

enum inbox_found inbox_take(struct inbox *inbox, struct inbox_message *ret_message)
{
	const uint8_t *head = inbox->bytes + inbox->begin;
	size_t held = inbox->end - inbox->begin;
	size_t len;

	if (held < INBOX_HEAD_BYTES)
		return INBOX_NONE;
	if (head[0] != 0)
		return INBOX_COMPRESSED;
	len = (size_t) head[1] << 24 | (size_t) head[2] << 16 | (size_t) head[3] << 8 | head[4];
	*ret_message = (struct inbox_message){.len = len};
	if (len > inbox->message_max_bytes)
		return INBOX_TOO_LONG;
	if (held < INBOX_HEAD_BYTES + len)
		return INBOX_NONE;
	ret_message->data = head + INBOX_HEAD_BYTES;
	ret_message->taken_bytes = INBOX_HEAD_BYTES + len;
	inbox->begin += ret_message->taken_bytes;
	return INBOX_MESSAGE;
}

bool inbox_is_empty(const struct inbox *inbox)
{
	return inbox->begin == inbox->end;
}
