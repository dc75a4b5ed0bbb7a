/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the sources of the probe process share: how a source looks again and again, and what it may
 * tell. A list is small, has no doubles, and holds no address that cannot be another host's; an
 * answer that leaves nothing is no list but an error.
 */

#include <ev.h>
#include <stdint.h>

#include "prism/endpoints.h"
#include "prism/probe/wire.h"

/* list is NULL when there is none, and `error` says why; else `error` is NULL. Both are borrowed.
 */
typedef void (*found_fn)(const struct endpoints_list *list, const char *error, void *userdata);

#define FOUND_ERROR_MAX 256

/* Embedded in each source; the timer is stopped while the source looks. */
struct search {
	struct ev_loop *ev;
	const struct settings *settings;
	int64_t interval_us;
	found_fn found;
	void *userdata;
	ev_timer timer;
};

/* `look` is called from the loop, at once and after each search_again(). settings are borrowed. */
void search_begin(struct search *search, struct ev_loop *ev, const struct settings *settings,
                  int64_t interval_us, void (*look)(struct ev_loop *, ev_timer *, int),
                  found_fn found, void *userdata);
/* After an interval, give or take a tenth, so that the nodes of a cluster do not march in step;
 * after one that found nothing RETRY_US is enough. */
void search_again(struct search *search, bool retry);
void search_end(struct search *search);

/* Adds what a remote side says: loopback, link-local, multicast and unspecified addresses are
 * passed over (the API refuses them in an EndpointSlice as well). True if it can be used. */
bool found_add_remote(struct endpoints_list *list, const struct addr *addr, uint16_t port);
