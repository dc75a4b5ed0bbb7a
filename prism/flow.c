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

#define SPLICE_BYTES (256 * 1024)
#define BULK_ENDS_BELOW (16 * 1024)
#define MOVE_MAX_BYTES (1024 * 1024) /* in one call */

void flow_fini(struct flow *flow, struct flow_room *room)
{
	if (flow->pipe != NULL)
		pipes_put(room->pipes, flow->pipe);
	flow->pipe = NULL;
	free(flow->held);
	flow->held = NULL;
}

static bool would_block(ssize_t n)
{
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* --- what is pending ----------------------------------------------------------------------------
 */

static int flush_held(struct flow *flow, int to, size_t *moved)
{
	struct held *h = flow->held;
	ssize_t n;

	n = send(to, h->data + h->offset, h->len - h->offset, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0)
		return would_block(n) ? 0 : -errno;
	h->offset += (size_t) n;
	*moved += (size_t) n;
	if (h->offset == h->len) {
		free(h);
		flow->held = NULL;
	}
	return 0;
}

static int flush_pipe(struct flow *flow, struct flow_room *room, int to, size_t *moved)
{
	struct pipe *p = flow->pipe;

	while (p->bytes > 0) {
		ssize_t n = splice(p->read_fd, NULL, to, NULL, p->bytes, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

		if (n < 0)
			return would_block(n) ? 0 : -errno;
		if (n == 0)
			return -EPIPE; /* cannot be: the pipe has bytes and a writer */
		p->bytes -= (size_t) n;
		*moved += (size_t) n;
	}
	pipes_put(room->pipes, p);
	flow->pipe = NULL;
	return 0;
}

static int flush(struct flow *flow, struct flow_room *room, int to, size_t *moved)
{
	int r;

	if (flow->held != NULL) {
		r = flush_held(flow, to, moved);
		if (r < 0 || flow->held != NULL)
			return r;
	}
	return flow->pipe != NULL ? flush_pipe(flow, room, to, moved) : 0;
}

/* --- new bytes ----------------------------------------------------------------------------------
 */

static int hold(struct flow *flow, const char *data, size_t len)
{
	struct held *h = malloc(sizeof(*h) + len);

	if (h == NULL)
		return -ENOMEM;
	h->offset = 0;
	h->len = len;
	memcpy(h->data, data, len);
	flow->held = h;
	return 0;
}

int flow_push(struct flow *flow, int to, const char *data, size_t len, size_t *ret_moved)
{
	ssize_t n;

	n = send(to, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0) {
		if (!would_block(n))
			return -errno;
		n = 0;
	}
	*ret_moved += (size_t) n;
	return (size_t) n < len ? hold(flow, data + n, len - (size_t) n) : 0;
}

/* 1: go on; 0: nothing more for now; -errno. */
static int move_copy(struct flow *flow, struct flow_room *room, int from, int to, size_t *moved)
{
	ssize_t n;
	int r;

	n = recv(from, room->buffer, FLOW_BUFFER_BYTES, MSG_DONTWAIT);
	if (n < 0)
		return would_block(n) ? 0 : -errno;
	if (n == 0) {
		flow->ended = true;
		return 0;
	}
	r = flow_push(flow, to, room->buffer, (size_t) n, moved);
	if (r < 0)
		return r;
	flow->bulk = n == FLOW_BUFFER_BYTES;
	return flow->bulk && flow->held == NULL;
}

static int move_bulk(struct flow *flow, struct flow_room *room, int from, int to, size_t *moved)
{
	struct pipe *p = pipes_get(room->pipes);
	ssize_t n;
	int r;

	if (p == NULL)
		return move_copy(flow, room, from, to, moved);
	n = splice(from, NULL, p->write_fd, NULL, SPLICE_BYTES, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n <= 0) {
		r = n == 0 || would_block(n) ? 0 : -errno;
		pipes_put(room->pipes, p);
		flow->ended = n == 0;
		return r;
	}
	p->bytes = (size_t) n;
	flow->pipe = p;
	flow->bulk = n >= BULK_ENDS_BELOW;
	r = flush_pipe(flow, room, to, moved);
	if (r < 0)
		return r;
	return flow->bulk && flow->pipe == NULL;
}

int flow_move(struct flow *flow, struct flow_room *room, int from, int to, bool readable,
              size_t *ret_moved)
{
	size_t moved = 0;
	int r;

	r = flow_is_pending(flow) ? flush(flow, room, to, &moved) : 0;
	if (r == 0 && readable && !flow->ended && !flow_is_pending(flow)) {
		do {
			r = flow->bulk ? move_bulk(flow, room, from, to, &moved)
			               : move_copy(flow, room, from, to, &moved);
		} while (r > 0 && moved < MOVE_MAX_BYTES);
	}
	*ret_moved = moved;
	if (r < 0)
		return r;
	if (flow->ended && !flow->shut && !flow_is_pending(flow)) {
		/* A sink that is gone by now will show itself in the other direction. */
		(void) shutdown(to, SHUT_WR);
		flow->shut = true;
	}
	return 0;
}
