/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a connection needs of all the others, which conns.c has; and how its sockets are watched. */

#include <ev.h>
#include <stdbool.h>

#include "prism/config.h"
#include "prism/conns.h"
#include "prism/flow.h"
#include "prism/upstream.h"

/* Each connection is looked at once in this time. */
#define CONN_REVIEW_US US_PER_S
/* An upstream that has not answered a client for so long is doubted. */
#define CONN_DOUBT_US (400 * US_PER_MS)

struct conn_host {
	struct ev_loop *ev;
	const struct config *config;
	struct upstreams *upstreams;
	struct flow_room room;
	struct conns_counts counts;
};

/*
 * What a socket is watched for, said to the kernel no more often than it changes. libev compares
 * once a turn what a descriptor was watched for with what it is to be watched for, by all its
 * watchers, unless ev_io_set() has told it that the descriptor may be another one.
 */

/* events: EV_READ, EV_WRITE, both or 0. */
static inline void watch_for(struct ev_loop *ev, ev_io *w, int events)
{
	if (ev_is_active(w) ? (w->events & (EV_READ | EV_WRITE)) == events : events == 0)
		return;
	ev_io_stop(ev, w);
	if (events == 0)
		return;
	ev_io_modify(w, events);
	ev_io_start(ev, w);
}

/*
 * Another watcher, stopped by now, has watched this descriptor: ev_io_set() without that news. It
 * must be true: the number may have been another descriptor's in this turn of the loop, and libev
 * would think that the kernel watches it already.
 */
static inline void watch_again(ev_io *w, int fd)
{
	w->fd = fd;
	w->events = 0;
}
