/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One client's connection: first an opening (opening.h), which finds an upstream that answers, then
 * two flows (flow.h) until both are over.
 */

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "prism/conn_host.h"
#include "prism/handover.h"
#include "prism/opening.h"

/* Its size is what an idle connection costs. */
struct conn {
	TAILQ_ENTRY(conn) entry; /* in conns, the one moved last is first */
	struct conn_host *host;
	struct opening *opening;   /* NULL: relayed */
	struct upstream *upstream; /* NULL while opening */
	ev_io client;
	ev_io server; /* fd -1 while opening */
	struct flow up;
	struct flow down;
	int64_t born_us;
	int64_t moved_us;
	uint16_t place;
	bool asks;    /* what moved last went up */
	bool patient; /* its upstream is slow: the kernel's limit is off (conn_review()) */
};

enum conn_end {
	CONN_END_DONE,  /* both sides have ended, or its time has come */
	CONN_END_RESET, /* a side broke, or there is no upstream: who is still there sees a reset */
};

/* Bytes moved: it is the youngest again. */
void conn_host_moved(struct conn *conn);
/* It is over: unlinked and freed there. */
void conn_host_gone(struct conn *conn);

/* A client's socket, and what it said already (when it was handed over). NULL: no memory; the
 * caller still has fd. Otherwise it is taken, and dialling has begun. */
struct conn *conn_new(struct conn_host *host, int fd, const char *first, size_t first_len);
/* One that is relayed already. NULL: no memory; a pipe that was taken nevertheless is -1 in *from,
 * the caller still has its other descriptors. Else all are taken, and watched. */
struct conn *conn_new_relaying(struct conn_host *host, struct handover_conn *from,
                               struct upstream *upstream);
void conn_end(struct conn *conn, enum conn_end how);
/* Once a second, for one that stays. False: its upstream is gone. */
bool conn_review(struct conn *conn, int64_t now_us);
bool conn_is_dialling(const struct conn *conn);
bool conn_is_half_closed(const struct conn *conn);
/* Somebody waits for something: the client for an answer, or a side for what is on its way. */
bool conn_is_owed(const struct conn *conn);
/* Describes it for the process that follows. */
void conn_describe(const struct conn *conn, struct handover_conn *ret_conn);
