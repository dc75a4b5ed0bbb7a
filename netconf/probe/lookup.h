/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The addresses of a host's name, asked of the system's resolver in a thread of its own, so that
 * nothing waits for a name server. Not getaddrinfo_a(3): its threads are the C library's, and
 * ThreadSanitizer crashes in them. */

#include "base/cleanup.h"
#include "base/endpoint.h"

struct lookup;

/* An address is its own answer. NULL: there is no thread to be had, or too many hang. */
struct lookup *lookup_start(const char *host, uint16_t port);
/* Does not wait for the thread, which ends by itself. */
void lookup_free(struct lookup *lookup);
DEFINE_AUTO(struct lookup, lookup_free);

/* -EAGAIN: no answer yet; -ENOENT: there is no such host; 0: the first of its addresses. */
int lookup_result(struct lookup *lookup, struct endpoint *ret_endpoint);
