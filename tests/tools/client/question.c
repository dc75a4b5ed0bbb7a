/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Requests out, answers in. An answer is kept whole until its head and all of the body that
 * Content-Length announces are there, then compared.
 */

#include "question.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "tests/tools/traffic/stream.h"

char *question_text(const struct question *q, uint64_t seed, size_t *ret_len)
{
	char *text;

	if (q->path != NULL) {
		text = xasprintf("GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: apiclient\r\n\r\n", q->path,
		                 q->host);
		*ret_len = strlen(text);
		return text;
	}
	text = xcalloc(1, MAX(q->echo_bytes, (size_t) 1));
	stream_fill(seed, 0, text, q->echo_bytes);
	*ret_len = q->echo_bytes;
	return text;
}

static enum answer_state wrong(struct answer *a, const char *what, size_t number)
{
	(void) snprintf(a->why, sizeof(a->why), "%s %zu", what, number);
	return ANSWER_WRONG;
}

static enum answer_state judge_echo(struct answer *a, const struct question *q, uint64_t seed)
{
	size_t right = stream_match(seed, 0, a->bytes, MIN(a->len, q->echo_bytes));

	if (right < MIN(a->len, q->echo_bytes))
		return wrong(a, "the echo differs at byte", right);
	if (a->len > q->echo_bytes)
		return wrong(a, "more bytes than were sent:", a->len);
	return a->len == q->echo_bytes ? ANSWER_RIGHT : ANSWER_INCOMPLETE;
}

static enum answer_state judge_http(struct answer *a, const struct question *q)
{
	const char *end = strstr(a->bytes, "\r\n\r\n");
	const char *length = strcasestr(a->bytes, "\r\ncontent-length:");
	size_t head_len, body_len;
	int status = 0;

	if (end == NULL)
		return ANSWER_INCOMPLETE;
	head_len = (size_t) (end + 4 - a->bytes);
	if (sscanf(a->bytes, "HTTP/1.%*1[01] %3d", &status) != 1)
		return wrong(a, "not HTTP; bytes:", a->len);
	if (status != q->status)
		return wrong(a, "status", (size_t) status);
	if (length == NULL || length > end)
		return wrong(a, "no Content-Length; bytes of the head:", head_len);
	body_len = (size_t) strtoul(length + strlen("\r\ncontent-length:"), NULL, 10);
	if (a->len < head_len + body_len)
		return ANSWER_INCOMPLETE;
	if (a->len > head_len + body_len)
		return wrong(a, "bytes behind the body:", a->len - head_len - body_len);
	if (q->body != NULL &&
	    (body_len != q->body_len || memcmp(a->bytes + head_len, q->body, body_len) != 0))
		return wrong(a, "the body differs; its bytes:", body_len);
	return ANSWER_RIGHT;
}

enum answer_state answer_add(struct answer *a, const struct question *q, uint64_t seed,
                             const void *bytes, size_t len)
{
	a->bytes = xreallocarray(a->bytes, a->len + len + 1, 1);
	memcpy(a->bytes + a->len, bytes, len);
	a->len += len;
	a->bytes[a->len] = '\0';
	return q->path != NULL ? judge_http(a, q) : judge_echo(a, q, seed);
}

void answer_clear(struct answer *a)
{
	free(a->bytes);
	*a = (struct answer){0};
}
