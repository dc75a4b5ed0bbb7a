/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a client asks and what it must get. Over TLS: one GET, and the answer's status and body byte
 * by byte. Plain: bytes of the known stream, and the same back. Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct question {
	const char *host, *path; /* of the GET; path NULL: an echo */
	int status;
	const char *body; /* NULL: any */
	size_t body_len;
	size_t echo_bytes;
};

/* What to send, a new text; seed is of this connection's stream, for an echo. */
char *question_text(const struct question *q, uint64_t seed, size_t *ret_len);

enum answer_state {
	ANSWER_INCOMPLETE,
	ANSWER_RIGHT,
	ANSWER_WRONG, /* another status or body, or bytes behind it */
};

/* An answer as it comes in. Zeroed before each question. */
struct answer {
	char *bytes;
	size_t len;
	char why[160]; /* of ANSWER_WRONG */
};

enum answer_state answer_add(struct answer *a, const struct question *q, uint64_t seed,
                             const void *bytes, size_t len);
void answer_clear(struct answer *a);
