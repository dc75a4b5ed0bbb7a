/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A message to a webhook: one POST of JSON, signed, for a process that has nothing else to do
 * meanwhile. Blocking: it resolves names and reads files. No redirects, no proxy.
 *
 * Headers and signature are those of the Standard Webhooks specification, for which receivers have
 * libraries: webhook-id is the same in each attempt at a message, webhook-timestamp is this
 * attempt's, and webhook-signature is "v1," and the Base64 of
 * HMAC-SHA256(key, id "." timestamp "." body).
 */

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

#define WEBHOOK_ERROR_MAX 256

struct webhook_message {
	const char *id; /* without a '.' */
	const char *body;
	int64_t now_s; /* since 1970-01-01 UTC */
	/* What it is signed with; NULL: it is not. */
	const void *key;
	size_t key_len;
};

struct webhook_way {
	const char *url;       /* http:// or https:// */
	const char *ca_file;   /* NULL: the system's */
	const char *cert_file; /* or NULL */
	const char *key_file;
	unsigned timeout_ms; /* for all of it; not 0 */
};

struct webhook_answer {
	int status;
	unsigned retry_after_s; /* what the header of that name says; 0 without */
};

/* The value of webhook-signature; the caller frees it. `message` has a key. */
char *webhook_sign(const struct webhook_message *message);

/* 0 when there is an answer, whatever its status; else -errno and a sentence: -EHOSTUNREACH,
 * -ETIMEDOUT, -EKEYREJECTED (TLS), -EINVAL (that is no URL), -EIO. */
int webhook_post(const struct webhook_way *way, const struct webhook_message *message,
                 char ret_error[static WEBHOOK_ERROR_MAX], struct webhook_answer *ret_answer);
