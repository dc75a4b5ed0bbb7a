/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One HTTP request, for a process that has nothing else to do meanwhile (the daemons have http.h).
 * Blocking. No redirects, and no proxy but the one that is named.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

#define WEBASK_ERROR_MAX 256

struct webask_request {
	const char *method;       /* "GET", "POST" */
	const char *url;          /* http://127.0.0.1:2379/health */
	const char *body;         /* NULL: none */
	const char *content_type; /* of the body; NULL: application/json */
	const char *header;       /* one more, "Name: value"; NULL: none */
	bool https;               /* the URL may be one; then `ca_file`, or NULL: the system's */
	const char *ca_file;
	const char *proxy;         /* "http://HOST:PORT"; NULL: none */
	const char *authorization; /* that header as it is; NULL: none */
	unsigned timeout_ms;       /* for all of it; not 0 */
	size_t max_body_bytes;     /* of the answer; more is an error */
};

struct webask_answer {
	int status;
	char *body; /* NUL-terminated; the caller frees it */
	size_t body_len;
};

/* 0 when there is an answer, whatever its status; else -errno and a sentence: -ECONNREFUSED,
 * -ETIMEDOUT, -EFBIG, -EIO. */
int webask(const struct webask_request *request, char ret_error[static WEBASK_ERROR_MAX],
           struct webask_answer *ret_answer);
