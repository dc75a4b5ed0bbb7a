/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One direction of a connection: bytes from one socket to another. Small data goes through a buffer
 * that all connections share, because it is empty again when the call returns; what the sink would
 * not take is put aside in memory of the flow's own. Bulk data goes through a pipe by splice(2) and
 * is never copied. While anything is under way nothing more is read: a slow reader slows the writer
 * down, and a flow holds a bounded amount.
 */

#include <stdbool.h>
#include <stddef.h>

#include "prism/pipes.h"

#define FLOW_BUFFER_BYTES (64 * 1024)

/* What all flows share. */
struct flow_room {
	struct pipes *pipes;
	char *buffer; /* FLOW_BUFFER_BYTES */
};

struct held {
	size_t offset, len; /* what is left: data[offset] .. data[len - 1] */
	char data[];
};

/* Zeroed to begin with. */
struct flow {
	struct pipe *pipe; /* NULL: nothing is in a pipe */
	struct held *held; /* NULL: nothing is held */
	bool ended;        /* the source has ended */
	bool shut;         /* and the sink has been told so */
	bool bulk;         /* the last read filled the buffer: splice */
};

/* Gives back what it has; what was under way is lost. */
void flow_fini(struct flow *flow, struct flow_room *room);

static inline bool flow_is_pending(const struct flow *flow)
{
	return flow->pipe != NULL || flow->held != NULL;
}

/*
 * Moves what can be moved now: first what is pending, then, if `readable`, what the source has, up
 * to a limit that keeps one connection from starving the others. When the source has ended and all
 * is passed on, the sink's writing half is shut down. 0, or -errno: the connection is broken.
 * *ret_moved: bytes that the sink took.
 */
int flow_move(struct flow *flow, struct flow_room *room, int from, int to, bool readable,
              size_t *ret_moved);

/* Passes on what was read elsewhere. 0, or -errno; -ENOMEM when the rest cannot be held. */
int flow_push(struct flow *flow, int to, const char *data, size_t len, size_t *ret_moved);
