/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One client's connection, from its first upstream to its last byte.
 *
 *	DIALLING --connected--> WAITING --first byte from upstream--> RELAYING --> (gone)
 *	    ^                      |
 *	    +---- silent, or cut --+     the first bytes go to another upstream
 *
 * While it waits, what the client said is kept; once the upstream has said anything it never is.
 */

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "prism/conns.h"
#include "prism/dial.h"
#include "prism/flow.h"

enum conn_state {
	CONN_DIALLING,
	CONN_WAITING,
	CONN_RELAYING,
};

/* Only while an upstream is looked for. */
struct conn_opening {
	struct dial *dial;
	ev_timer silence;
	size_t len, sent; /* of first */
	size_t size;      /* bytes that first has */
	char *first;      /* what the client said, or NULL */
};

/* What a connection needs of all the others. */
struct conn_host {
	struct ev_loop *ev;
	const struct config *config;
	struct upstreams *upstreams;
	struct flow_room room;
	struct conns_counts counts;
};

/* Its size is what an idle connection costs. */
struct conn {
	TAILQ_ENTRY(conn) entry; /* in conns, the one moved last is first */
	struct conn_host *host;
	struct upstream *upstream;    /* NULL while DIALLING */
	struct conn_opening *opening; /* NULL when RELAYING */
	ev_io client;
	ev_io server; /* fd -1 while DIALLING */
	struct flow up;
	struct flow down;
	int64_t born_us;
	int64_t moved_us;
	uint16_t place;
	uint8_t state; /* enum conn_state; written by one function */
};

enum conn_end {
	CONN_END_DONE,  /* both sides have ended */
	CONN_END_RESET, /* a side broke, or there is no upstream: the client sees a reset */
};

/* Bytes moved: it is the youngest again. */
void conn_host_moved(struct conn *conn);
/* It is over: unlinked and freed there. */
void conn_host_gone(struct conn *conn);

/* A client's socket, and what it said already (when it was handed over). NULL: no memory; the
 * caller still has fd. Otherwise it is taken, and dialling has begun. */
struct conn *conn_new(struct conn_host *host, int fd, const char *first, size_t first_len);
/* One that is relayed already. NULL: no memory; else its descriptors are taken, and watched. */
struct conn *conn_new_relaying(struct conn_host *host, const struct handover_conn *from,
                               struct upstream *upstream);
void conn_end(struct conn *conn, enum conn_end how);
bool conn_is_half_closed(const struct conn *conn);
/* Describes it for the process that follows. */
void conn_describe(const struct conn *conn, struct handover_conn *ret_conn);
