/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a source found. Pure. A list is small, has no doubles, and holds no address that cannot be
 * another host's; an answer that leaves nothing is no list but an error.
 */

#include <stdint.h>

#include "prism/endpoints.h"

/* list is NULL when there is none, and `error` says why; else `error` is NULL. Both are borrowed.
 */
typedef void (*found_fn)(const struct endpoints_list *list, const char *error, void *userdata);

#define FOUND_ERROR_MAX 256

/* Adds one, unless it is there or the list is full (ENDPOINTS_MAX). For what an operator wrote. */
void found_add(struct endpoints_list *list, const struct endpoint *endpoint);

/* The same for what a remote side says: loopback, link-local, multicast and unspecified addresses
 * are passed over (the API refuses them in an EndpointSlice as well). True if it can be used. */
bool found_add_remote(struct endpoints_list *list, const struct addr *addr, uint16_t port);

/* An interval, give or take a tenth, so that the nodes of a cluster do not march in step. */
int64_t found_jittered_us(int64_t interval_us);
