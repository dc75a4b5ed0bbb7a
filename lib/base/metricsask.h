/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a scraper asks for: the head of one HTTP request (RFC 9112), read strictly. Only GET and
 * HEAD of /metrics are served, in HTTP/1.0 and 1.1; a query behind the path is passed over, and so
 * is a body, since a connection carries one request. Pure.
 */

#include <stdbool.h>
#include <stddef.h>

#define METRICSASK_BYTES_MAX 4096 /* of a head, the empty line included */

/*
 * 0: it is not whole yet, read more; else the status of the answer: 200, or 400, 404, 405, 431,
 * 505. What can be refused is refused before it is whole. With a status *ret_head says whether the
 * method is HEAD, so that the answer has no body.
 */
int metricsask_read(const char *data, size_t len, bool *ret_head);
