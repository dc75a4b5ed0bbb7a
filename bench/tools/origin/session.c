/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See session.h. The body of a request is thrown away inside the kernel, and answers come from one
 * constant block, so that the origin costs little beside what it is there to measure. What is read
 * of small requests goes through one buffer; a session keeps nothing but a head that came in parts.
 */

#include "session.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/macro.h"
#include "base/mem.h"
#include "bench/tools/common/wire.h"

#define SCRATCH_BYTES (64U << 10)
#define BLOCK_BYTES (1U << 20)

struct session {
	struct reactor_watch watch;
	struct sessions *all;
	LIST_ENTRY(session) link;
	int fd;
	struct wire_head head;
	uint32_t head_have;    /* bytes of it */
	uint32_t request_left; /* of the body, still to come */
	uint32_t response_left;
	bool writing; /* waits for room, not for a request */
};

struct sessions {
	struct reactor *reactor;
	bool draining;
	unsigned n;
	LIST_HEAD(, session) list;
	uint8_t *scratch;
	uint8_t *block;
};

static void session_end(struct session *s)
{
	(void) close(s->fd);
	LIST_REMOVE(s, link);
	s->all->n--;
	free(s);
}

static bool session_is_idle(const struct session *s)
{
	return s->head_have == 0 && s->response_left == 0;
}

/* A whole head is there. False: it is none of ours. */
static bool session_begin(struct session *s)
{
	const struct wire_head *head = &s->head;

	if (head->magic != WIRE_MAGIC || head->request_bytes < sizeof(*head) ||
	    head->request_bytes > WIRE_BODY_MAX || head->response_bytes < 1 ||
	    head->response_bytes > WIRE_BODY_MAX)
		return false;
	s->request_left = head->request_bytes - (uint32_t) sizeof(*head);
	return true;
}

/* 1: answered; 0: no room, comes again by EPOLLOUT; -errno. */
static int session_answer(struct session *s)
{
	while (s->response_left > 0) {
		size_t len = MIN(s->response_left, BLOCK_BYTES);
		ssize_t n = send(s->fd, s->all->block, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0)
			return -errno;
		s->response_left -= (uint32_t) n;
	}
	s->head_have = 0;
	return 1;
}

/* Takes in len bytes of the client: completes the head, eats the body. 1 when the request is
 * complete, 0 when not, -EBADMSG; *ret_used is how many bytes belonged to it. */
static int session_take(struct session *s, const uint8_t *bytes, size_t len, size_t *ret_used)
{
	size_t used = 0;

	if (s->head_have < sizeof(s->head)) {
		used = MIN(len, sizeof(s->head) - s->head_have);
		memcpy((uint8_t *) &s->head + s->head_have, bytes, used);
		s->head_have += (uint32_t) used;
		if (s->head_have < sizeof(s->head)) {
			*ret_used = used;
			return 0;
		}
		if (!session_begin(s))
			return -EBADMSG;
	}
	len = MIN(len - used, s->request_left);
	s->request_left -= (uint32_t) len;
	*ret_used = used + len;
	return s->request_left == 0 ? 1 : 0;
}

/* 0 or -errno; -EPIPE when the client has ended. One read a turn; what is left wakes us again. */
static int session_read(struct session *s)
{
	struct sessions *all = s->all;
	bool in_body = s->head_have == sizeof(s->head) && s->request_left > 0;
	ssize_t n = in_body ? recv(s->fd, NULL, s->request_left, MSG_TRUNC | MSG_DONTWAIT)
	                    : recv(s->fd, all->scratch, SCRATCH_BYTES, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	if (n == 0)
		return -EPIPE;
	for (size_t used = 0; used < (size_t) n;) {
		size_t taken = 0;
		int r = session_take(s, all->scratch + used, (size_t) n - used, &taken);

		if (r < 0)
			return r;
		used += taken;
		if (r == 0)
			continue;
		/* A second request behind the first, before the answer: nobody here sends that. */
		if (used != (size_t) n)
			return -EBADMSG;
		s->response_left = s->head.response_bytes;
		r = session_answer(s);
		if (r < 0)
			return r;
		if (r == 0) {
			s->writing = true;
			return reactor_change(all->reactor, s->fd, EPOLLOUT, &s->watch);
		}
	}
	return 0;
}

static int session_write(struct session *s)
{
	int r = session_answer(s);

	if (r <= 0)
		return r;
	s->writing = false;
	return reactor_change(s->all->reactor, s->fd, EPOLLIN, &s->watch);
}

static void session_event(struct reactor_watch *watch, uint32_t events UNUSED)
{
	struct session *s = CONTAINER_OF(watch, struct session, watch);
	int r = s->writing ? session_write(s) : session_read(s);

	if (r < 0 || (s->all->draining && session_is_idle(s)))
		session_end(s);
}

struct sessions *sessions_new(struct reactor *reactor, uint8_t number)
{
	struct sessions *all = NEW0(struct sessions);

	all->reactor = reactor;
	LIST_INIT(&all->list);
	all->scratch = xcalloc(1, SCRATCH_BYTES);
	all->block = xcalloc(1, BLOCK_BYTES);
	memset(all->block, number, BLOCK_BYTES);
	return all;
}

void sessions_free(struct sessions *all)
{
	if (all == NULL)
		return;
	while (!LIST_EMPTY(&all->list))
		session_end(LIST_FIRST(&all->list));
	free(all->scratch);
	free(all->block);
	free(all);
}

void sessions_serve(struct sessions *all, int fd)
{
	struct session *s = NEW0(struct session);

	s->watch.fn = session_event;
	s->all = all;
	s->fd = fd;
	LIST_INSERT_HEAD(&all->list, s, link);
	all->n++;
	if (reactor_add(all->reactor, fd, EPOLLIN, &s->watch) < 0)
		session_end(s);
}

void sessions_drain(struct sessions *all)
{
	struct session *s = LIST_FIRST(&all->list);

	all->draining = true;
	while (s != NULL) {
		struct session *next = LIST_NEXT(s, link);

		if (session_is_idle(s))
			session_end(s);
		s = next;
	}
}

unsigned sessions_n(const struct sessions *all)
{
	return all->n;
}
