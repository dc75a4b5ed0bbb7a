/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two ways of moving bytes. A read that fills the shared buffer means bulk: from there on
 * splice, until a splice brings little. Level-triggered: a read that did not fill the buffer has
 * emptied the socket, so no second read asks for it.
 */
#include "prism/flow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fsm.h"
#include "base/macro.h"
#include "base/mem.h"

#define SPLICE_BYTES (256 * 1024)
#define BULK_ENDS_BELOW (16 * 1024)
#define MOVE_MAX_BYTES (1024 * 1024) /* in one call */

/* Clients that read nothing may make prism hold a buffer each. Above this in all, what is read at
 * once, and so what may have to be held, is little. */
#define HELD_PLENTY_BYTES (64 * 1024 * 1024)
#define READ_LITTLE_BYTES (4 * 1024)

static const struct fsm_state states[] = {
    [FLOW_OPEN] = {"open", FSM_TO(FLOW_ENDING) | FSM_TO(FLOW_BREAKING) | FSM_TO(FLOW_BROKEN)},
    [FLOW_ENDING] = {"ending", FSM_TO(FLOW_ENDED) | FSM_TO(FLOW_BROKEN)},
    [FLOW_BREAKING] = {"breaking", FSM_TO(FLOW_BROKEN)},
    [FLOW_ENDED] = {"ended", 0},
    [FLOW_BROKEN] = {"broken", 0},
};

static void set_state(struct flow *flow, enum flow_state state)
{
	fsm_check(states, ARRAY_SIZE(states), flow->state, state);
	flow->state = (uint8_t) state;
}

/* --- what all share --- */

void flow_room_init(struct flow_room *room, struct pipes *pipes)
{
	*room = (struct flow_room){
	    .pipes = pipes,
	    /* Not cleared, which would touch all of it. */
	    .buffer = xreallocarray(NULL, 1, FLOW_BUFFER_BYTES),
	};
}

void flow_room_fini(struct flow_room *room)
{
	pipes_free(room->pipes);
	free(room->buffer);
}

static bool would_block(ssize_t n)
{
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* --- what is pending --- */

static void drop_held(struct flow *flow, struct flow_room *room)
{
	if (flow->held == NULL)
		return;
	room->held -= flow->held->len;
	free(flow->held);
	flow->held = NULL;
}

void flow_fini(struct flow *flow, struct flow_room *room)
{
	if (flow->pipe != NULL)
		pipes_put(room->pipes, flow->pipe);
	flow->pipe = NULL;
	drop_held(flow, room);
}

void flow_break(struct flow *flow, struct flow_room *room)
{
	flow_fini(flow, room);
	if (flow->state != FLOW_ENDED && flow->state != FLOW_BROKEN)
		set_state(flow, FLOW_BROKEN);
}

/* Its own reading half ends as well, so that the other direction finds its end. */
static enum flow_break break_sink(struct flow *flow, struct flow_room *room, int to)
{
	(void) shutdown(to, SHUT_RDWR);
	flow_break(flow, room);
	return FLOW_SINK_BROKE;
}

static enum flow_break flush_held(struct flow *flow, struct flow_room *room, int to, size_t *moved)
{
	struct held *h = flow->held;
	ssize_t n;

	n = send(to, h->data + h->offset, h->len - h->offset, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (would_block(n))
		return FLOW_FINE;
	if (n < 0)
		return break_sink(flow, room, to);
	h->offset += (size_t) n;
	*moved += (size_t) n;
	if (h->offset == h->len)
		drop_held(flow, room);
	return FLOW_FINE;
}

static enum flow_break flush_pipe(struct flow *flow, struct flow_room *room, int to, size_t *moved)
{
	struct pipe *p = flow->pipe;

	while (p->bytes > 0) {
		ssize_t n = splice(p->read_fd, NULL, to, NULL, p->bytes, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

		if (would_block(n))
			return FLOW_FINE;
		if (n <= 0)
			return break_sink(flow, room, to);
		p->bytes -= (size_t) n;
		*moved += (size_t) n;
	}
	pipes_put(room->pipes, p);
	flow->pipe = NULL;
	return FLOW_FINE;
}

static enum flow_break flush(struct flow *flow, struct flow_room *room, int to, size_t *moved)
{
	enum flow_break broke = FLOW_FINE;

	if (flow->held != NULL)
		broke = flush_held(flow, room, to, moved);
	if (flow->held == NULL && flow->pipe != NULL)
		broke = flush_pipe(flow, room, to, moved);
	return broke;
}

/* --- new bytes --- */

int flow_hold(struct flow *flow, struct flow_room *room, const char *data, size_t len)
{
	struct held *h = malloc(sizeof(*h) + len);

	if (h == NULL)
		return -ENOMEM;
	h->offset = 0;
	h->len = len;
	memcpy(h->data, data, len);
	flow->held = h;
	room->held += len;
	return 0;
}

enum flow_break flow_push(struct flow *flow, struct flow_room *room, int to, const char *data,
                          size_t len, size_t *moved)
{
	ssize_t n;

	n = send(to, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0 && !would_block(n))
		return break_sink(flow, room, to);
	n = MAX(n, 0);
	*moved += (size_t) n;
	if ((size_t) n == len || flow_hold(flow, room, data + n, len - (size_t) n) == 0)
		return FLOW_FINE;
	flow_break(flow, room);
	return FLOW_NO_MEMORY;
}

/* n: what a read returned. */
static enum flow_break end_of_source(struct flow *flow, ssize_t n)
{
	bool in_order = n == 0 && !flow->cut;

	set_state(flow, in_order ? FLOW_ENDING : FLOW_BREAKING);
	return in_order ? FLOW_FINE : FLOW_SOURCE_BROKE;
}

/* *ret_more: there may be more, now. */
static enum flow_break move_copy(struct flow *flow, struct flow_room *room, int from, int to,
                                 size_t *moved, bool *ret_more)
{
	size_t size = room->held < HELD_PLENTY_BYTES ? FLOW_BUFFER_BYTES : READ_LITTLE_BYTES;
	ssize_t n;

	*ret_more = false;
	n = recv(from, room->buffer, size, MSG_DONTWAIT);
	if (would_block(n))
		return FLOW_FINE;
	if (n <= 0)
		return end_of_source(flow, n);
	flow->bulk = n == FLOW_BUFFER_BYTES;
	*ret_more = flow->bulk;
	return flow_push(flow, room, to, room->buffer, (size_t) n, moved);
}

static enum flow_break move_bulk(struct flow *flow, struct flow_room *room, int from, int to,
                                 size_t *moved, bool *ret_more)
{
	struct pipe *p = pipes_get(room->pipes);
	ssize_t n;

	if (p == NULL)
		return move_copy(flow, room, from, to, moved, ret_more);
	*ret_more = false;
	n = splice(from, NULL, p->write_fd, NULL, SPLICE_BYTES, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n > 0) {
		p->bytes = (size_t) n;
		flow->pipe = p;
		flow->bulk = n >= BULK_ENDS_BELOW;
		*ret_more = flow->bulk;
		return flush_pipe(flow, room, to, moved);
	}
	if (!would_block(n)) {
		pipes_put(room->pipes, p);
		return end_of_source(flow, n);
	}
	pipes_put(room->pipes, p);
	/* Asked for its own sake the source must have something, unless that is what splice(2) does not
	 * take: an urgent byte. */
	if (*moved == 0)
		flow->bulk = false;
	return FLOW_FINE;
}

/* --- all of it --- */

void flow_finish(struct flow *flow, int to)
{
	if (flow_is_pending(flow))
		return;
	if (flow->state == FLOW_BREAKING)
		set_state(flow, FLOW_BROKEN);
	if (flow->state != FLOW_ENDING)
		return;
	/* A sink that is gone by now will show itself in the other direction. */
	(void) shutdown(to, SHUT_WR);
	set_state(flow, FLOW_ENDED);
}

enum flow_break flow_move(struct flow *flow, struct flow_room *room, int from, int to,
                          bool readable, size_t *ret_moved)
{
	enum flow_break broke = FLOW_FINE;
	bool more = readable;
	size_t moved = 0;

	if (flow_is_pending(flow))
		broke = flush(flow, room, to, &moved);
	while (more && flow->state == FLOW_OPEN && !flow_is_pending(flow) && moved < MOVE_MAX_BYTES)
		broke = flow->bulk ? move_bulk(flow, room, from, to, &moved, &more)
		                   : move_copy(flow, room, from, to, &moved, &more);
	*ret_moved = moved;
	return broke;
}
