/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The little HTTP that a probe needs: GET /readyz is answered as the script says, with a body like
 * an API server's, every other path with the script's body. Connections are kept.
 */

#include <stddef.h>

#include "script.h"
#include "tests/tools/traffic/link.h"

#define HTTPD_HEAD_MAX 8192

struct httpd {
	char *head; /* of a request, as far as it has come */
	size_t len;
};

/* Requests without bodies. One that is no HTTP, or too long, is answered with 400 and forgotten. */
void httpd_take(struct httpd *httpd, struct link *link, const struct script *script,
                const void *bytes, size_t len);
void httpd_clear(struct httpd *httpd);
