/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two ways of moving bytes. A read that fills the shared buffer means bulk: from there on
 * splice, until a splice brings little. Level-triggered: a read that did not fill the buffer has
 * emptied the socket, so no second read asks for it.
 */
#include "prism/flow.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fsm.h"
#include "base/macro.h"
#include "base/mem.h"

/* A stack of empty pipes: the one used last is the warmest. */

/* Wider than the kernel's 64 KiB: a slot holds one fragment of a packet, and few fragments are
 * whole pages. */
#define PIPE_BYTES (256 * 1024)
#define UNUSED_MAX 16 /* after a trim */

struct pipes {
	struct pipe *unused;
	unsigned n_unused;
	unsigned n;
	unsigned max;
};

struct pipes *pipes_new(unsigned max)
{
	struct pipes *pipes = NEW0(struct pipes);

	pipes->max = max;
	return pipes;
}

static void destroy(struct pipes *pipes, struct pipe *pipe)
{
	(void) close(pipe->read_fd);
	(void) close(pipe->write_fd);
	free(pipe);
	pipes->n--;
}

static void drop_unused(struct pipes *pipes, unsigned keep)
{
	while (pipes->n_unused > keep) {
		struct pipe *pipe = pipes->unused;

		pipes->unused = pipe->next;
		pipes->n_unused--;
		destroy(pipes, pipe);
	}
}

void pipes_free(struct pipes *pipes)
{
	if (pipes == NULL)
		return;
	drop_unused(pipes, 0);
	assert(pipes->n == 0);
	free(pipes);
}

static struct pipe *add(struct pipes *pipes, int read_fd, int write_fd, size_t bytes)
{
	struct pipe *pipe = malloc(sizeof(*pipe));

	if (pipe == NULL)
		return NULL;
	*pipe = (struct pipe){.read_fd = read_fd, .write_fd = write_fd, .bytes = bytes};
	pipes->n++;
	return pipe;
}

struct pipe *pipes_adopt(struct pipes *pipes, int read_fd, int write_fd)
{
	int bytes = 0;

	if (write_fd < 0 || ioctl(read_fd, FIONREAD, &bytes) < 0 || bytes < 0)
		return NULL;
	return add(pipes, read_fd, write_fd, (size_t) bytes);
}

struct pipe *pipes_get(struct pipes *pipes)
{
	struct pipe *pipe = pipes->unused;
	int fds[2];

	if (pipe != NULL) {
		pipes->unused = pipe->next;
		pipes->n_unused--;
		return pipe;
	}
	if (pipes->n >= pipes->max || pipe2(fds, O_NONBLOCK | O_CLOEXEC) < 0)
		return NULL;
	pipe = add(pipes, fds[0], fds[1], 0);
	if (pipe == NULL) {
		(void) close(fds[0]);
		(void) close(fds[1]);
		return NULL;
	}
	/* Where the user's allowance is used up, it stays as it is. */
	(void) fcntl(pipe->write_fd, F_SETPIPE_SZ, PIPE_BYTES);
	return pipe;
}

void pipes_put(struct pipes *pipes, struct pipe *pipe)
{
	if (pipe->bytes > 0) {
		destroy(pipes, pipe);
		return;
	}
	pipe->next = pipes->unused;
	pipes->unused = pipe;
	pipes->n_unused++;
}

void pipes_trim(struct pipes *pipes)
{
	drop_unused(pipes, UNUSED_MAX);
}

unsigned pipes_count(const struct pipes *pipes)
{
	return pipes->n;
}

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
