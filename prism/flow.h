/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One direction of a connection: bytes from one socket to another. Small data goes through a buffer
 * that all connections share, because it is empty again when the call returns; what the sink would
 * not take is put aside in memory of the flow's own. Bulk data goes through a pipe by splice(2) and
 * is never copied. While anything is under way nothing more is read: a slow reader slows the writer
 * down, and a flow holds a bounded amount.
 *
 *	OPEN --source ended--> ENDING --all is passed on, the sink is told--> ENDED
 *	  | +--source broke--> BREAKING --all is passed on--+
 *	  +----------------------- sink broke --------------+--> BROKEN
 *
 * What a source said before it broke is passed on as what it said before it ended: the peer of a
 * socket reads, too, what had arrived before the reset.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

/*
 * Pipes for splice(2), pooled. A connection has one only while bytes are in flight, so few serve
 * many. A pipe with something left in it is closed, never pooled: what one client sent must not
 * reach another. An unprivileged user may have 16384 pages in pipes (pipe(7),
 * pipe-user-pages-soft); what does not get one is copied instead.
 */

/* As many as that allowance has room for, with 4 KiB pages. */
#define PIPES_MAX 256

struct pipes;

struct pipe {
	int read_fd;
	int write_fd;
	size_t bytes; /* in it now; kept by whoever has it */
	struct pipe *next;
};

/* max: pipes in all, in use and in the pool. */
struct pipes *pipes_new(unsigned max);
void pipes_free(struct pipes *pipes); /* every pipe must have come back */
DEFINE_AUTO(struct pipes, pipes_free);

/* NULL when there is none to be had: go on without. */
struct pipe *pipes_get(struct pipes *pipes);
/* Takes one that another process had; the kernel knows what is in it. NULL: it is none, or no
 * memory; then its descriptors are still the caller's. */
struct pipe *pipes_adopt(struct pipes *pipes, int read_fd, int write_fd);
/* Back into the pool, or closed if anything is left in it. */
void pipes_put(struct pipes *pipes, struct pipe *pipe);

/* Closes what lies unused; called now and then. */
void pipes_trim(struct pipes *pipes);
unsigned pipes_count(const struct pipes *pipes);

#define FLOW_BUFFER_BYTES (64 * 1024)

/* What all flows share. */
struct flow_room {
	struct pipes *pipes;
	char *buffer; /* FLOW_BUFFER_BYTES */
	size_t held;  /* bytes that are held for clients, all together */
};

/* Takes the pipes. The buffer becomes memory with the bytes that pass, and not before. */
void flow_room_init(struct flow_room *room, struct pipes *pipes);
void flow_room_fini(struct flow_room *room);

enum flow_state {
	FLOW_OPEN,
	FLOW_ENDING,
	FLOW_BREAKING,
	FLOW_ENDED,
	FLOW_BROKEN,
};

struct held {
	size_t offset, len; /* what is left: data[offset] .. data[len - 1] */
	char data[];
};

/* Zeroed to begin with. */
struct flow {
	struct pipe *pipe; /* NULL: nothing is in a pipe */
	struct held *held; /* NULL: nothing is held */
	uint8_t state;     /* enum flow_state */
	bool bulk;         /* the last read filled the buffer: splice */
	bool cut;          /* the source broke as a sink: its end, when it shows, is none in order */
};

enum flow_break {
	FLOW_FINE,
	FLOW_SOURCE_BROKE, /* it is no sink any more either */
	FLOW_SINK_BROKE,   /* what it said before can still be read, and then its end */
	FLOW_NO_MEMORY,    /* bytes are lost */
};

/* Gives back what it has; what was under way is lost. */
void flow_fini(struct flow *flow, struct flow_room *room);

static inline bool flow_is_pending(const struct flow *flow)
{
	return flow->pipe != NULL || flow->held != NULL;
}

/* Its source is at the end, in whatever way, and all that it said is passed on. */
static inline bool flow_is_done(const struct flow *flow)
{
	return flow->state != FLOW_OPEN && !flow_is_pending(flow);
}

/*
 * Moves what can be moved now: first what is pending, then, if `readable`, what the source has, up
 * to a limit that keeps one connection from starving the others. *ret_moved: bytes that the sink
 * took. What broke is told once; the state is BREAKING or BROKEN then.
 */
enum flow_break flow_move(struct flow *flow, struct flow_room *room, int from, int to,
                          bool readable, size_t *ret_moved);

/* Passes on what was read elsewhere, when nothing is pending. *moved grows. */
enum flow_break flow_push(struct flow *flow, struct flow_room *room, int to, const char *data,
                          size_t len, size_t *moved);

/* Nothing more can pass: what is under way is lost. */
void flow_break(struct flow *flow, struct flow_room *room);

/* When it is done and was not over, it is now: a sink whose source ended in order is told so. Not
 * needed when both sockets are closed anyway. */
void flow_finish(struct flow *flow, int to);

/* Holds bytes that another process held. 0 or -ENOMEM. */
int flow_hold(struct flow *flow, struct flow_room *room, const char *data, size_t len);
