/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The addresses of a host's name, asked of the system's resolver in the C library's own thread
 * (getaddrinfo_a(3)), so that nothing waits for a name server. */

#include "base/cleanup.h"
#include "base/endpoint.h"

struct lookup;

/* An address is its own answer. NULL: it cannot be asked. */
struct lookup *lookup_start(const char *host, uint16_t port);
void lookup_free(struct lookup *lookup);
DEFINE_AUTO(struct lookup, lookup_free);

/* -EAGAIN: no answer yet; -ENOENT: there is no such host; 0: the first of its addresses. */
int lookup_result(const struct lookup *lookup, struct endpoint *ret_endpoint);
