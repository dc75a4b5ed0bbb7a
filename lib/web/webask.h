/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One HTTP request, for a process that has nothing else to do meanwhile (the daemons have http.h).
 * Blocking: it resolves names and reads files. No redirects, and no proxy but the one that is named.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

#define WEBASK_ERROR_MAX 256

struct webask_request {
	const char *method;         /* "GET", "POST" */
	const char *url;            /* http://127.0.0.1:2379/health */
	const char *body;           /* NULL: none */
	const char *content_type;   /* of the body; NULL: application/json */
	const char *header;         /* one more, "Name: value"; NULL: none */
	const char *const *headers; /* more of them, with a NULL behind the last; NULL: none */
	bool https;                 /* the URL may be one; then `ca_file`, or NULL: the system's */
	const char *ca_file;
	const char *cert_file; /* of the client; or NULL */
	const char *key_file;
	const char *proxy;         /* "http://HOST:PORT"; NULL: none */
	const char *authorization; /* that header as it is; NULL: none */
	unsigned timeout_ms;       /* for all of it; not 0 */
	size_t max_body_bytes;     /* of the answer; more is an error */
};

struct webask_answer {
	int status;
	unsigned retry_after_s; /* what the header of that name says; 0 without */
	char *body;             /* NUL-terminated; the caller frees it */
	size_t body_len;
};

/* 0 when there is an answer, whatever its status; else -errno and a sentence: -ECONNREFUSED,
 * -EHOSTUNREACH (no such name), -ETIMEDOUT, -EKEYREJECTED (TLS), -EINVAL (that is no URL), -EFBIG,
 * -EIO. With -EFBIG the answer has its status, and no body. */
int webask(const struct webask_request *request, char ret_error[static WEBASK_ERROR_MAX],
           struct webask_answer *ret_answer);

/* --- webhooks --- */

/*
 * A message to a webhook: one POST of JSON, signed.
 *
 * Headers and signature are those of the Standard Webhooks specification, for which receivers have
 * libraries: webhook-id is the same in each attempt at a message, webhook-timestamp is this
 * attempt's, and webhook-signature is "v1," and the Base64 of
 * HMAC-SHA256(key, id "." timestamp "." body).
 */

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

/* The value of webhook-signature; the caller frees it. `message` has a key. */
char *webhook_sign(const struct webhook_message *message);

/* As webask(); an answer of any length is one, and its body is dropped. -EHOSTUNREACH also where the
 * connection is refused. */
int webhook_post(const struct webhook_way *way, const struct webhook_message *message,
                 char ret_error[static WEBASK_ERROR_MAX], struct webask_answer *ret_answer);
