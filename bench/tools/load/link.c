/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See link.h. Sends at once and watches for room only when there was none. Long answers are thrown
 * away inside the kernel (tcp(7), MSG_TRUNC): the generator shares its core with the origin and is
 * to cost little.
 */

#include "link.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/macro.h"
#include "base/mem.h"
#include "bench/tools/common/sock.h"
#include "bench/tools/common/wire.h"

#define SOURCES 16
#define SCRATCH_BYTES 16384

int message_init(struct message *m, uint32_t request_bytes, uint32_t response_bytes)
{
	struct wire_head head = {
	    .magic = WIRE_MAGIC,
	    .request_bytes = request_bytes,
	    .response_bytes = response_bytes,
	};

	if (request_bytes < sizeof(head) || request_bytes > WIRE_BODY_MAX || response_bytes < 1 ||
	    response_bytes > WIRE_BODY_MAX)
		return -EINVAL;
	m->bytes = xcalloc(1, request_bytes);
	memcpy(m->bytes, &head, sizeof(head));
	m->len = request_bytes;
	m->answer_bytes = response_bytes;
	return 0;
}

void message_fini(struct message *m)
{
	free(m->bytes);
	m->bytes = NULL;
}

void link_close(struct link *link)
{
	if (!link->is_open)
		return;
	(void) close(link->fd);
	link->is_open = false;
}

static void link_fail(struct link *link, int r)
{
	link_close(link);
	link->done(link, r);
}

/* Everything that has room. 0 or -errno. */
static int link_send(struct link *link)
{
	bool wants_room;
	int r;

	while (link->to_send > 0) {
		const struct message *m = link->message;
		ssize_t n = send(link->fd, m->bytes + m->len - link->to_send, link->to_send,
		                 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0)
			return -errno;
		link->connecting = false;
		link->to_send -= (uint32_t) n;
		*link->moved += (uint64_t) n;
	}
	wants_room = link->connecting || link->to_send > 0;
	if (wants_room == link->wants_room)
		return 0;
	r = reactor_change(link->reactor, link->fd, wants_room ? EPOLLIN | EPOLLOUT : EPOLLIN,
	                   &link->watch);
	link->wants_room = wants_room;
	return r;
}

/* 1: the answer is whole; 0: not yet; -errno. */
static int link_receive(struct link *link)
{
	uint8_t scratch[SCRATCH_BYTES];
	bool begun = link->message != NULL && link->to_receive < link->message->answer_bytes;
	bool bulk = begun && link->to_receive > sizeof(scratch);
	ssize_t n = bulk ? recv(link->fd, NULL, link->to_receive, MSG_TRUNC | MSG_DONTWAIT)
	                 : recv(link->fd, scratch, sizeof(scratch), MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	if (n == 0)
		return -EPIPE;
	if ((size_t) n > link->to_receive)
		return -EBADMSG;
	if (!begun)
		link->answer_first = scratch[0];
	link->to_receive -= (uint32_t) n;
	*link->moved += (uint64_t) n;
	return link->to_receive == 0 ? 1 : 0;
}

static void link_event(struct reactor_watch *watch, uint32_t events)
{
	struct link *link = CONTAINER_OF(watch, struct link, watch);
	int r = 0;

	if (link->connecting) {
		r = sock_error(link->fd);
		link->connecting = false;
	}
	if (r >= 0 && link->wants_room)
		r = link_send(link);
	if (r >= 0 && (events & ~(uint32_t) EPOLLOUT) != 0)
		r = link_receive(link);
	if (r < 0)
		link_fail(link, r);
	else if (r > 0)
		link->done(link, 0);
}

static const struct addr *next_source(const struct endpoint *to, struct addr *ret_source)
{
	static unsigned turn;
	const uint8_t bytes[4] = {127, 2, 0, (uint8_t) (1 + turn++ % SOURCES)};

	if (to->addr.family != AF_INET || !addr_is_loopback(&to->addr))
		return NULL;
	(void) addr_from_bytes(AF_INET, bytes, sizeof(bytes), ret_source);
	return ret_source;
}

int link_open(struct link *link, struct reactor *reactor, const struct endpoint *to)
{
	struct addr source;
	int r;

	link->fd = sock_connect(to, next_source(to, &source));
	if (link->fd < 0)
		return link->fd;
	link->is_open = true;
	link->reactor = reactor;
	link->watch.fn = link_event;
	link->connecting = true;
	link->wants_room = true;
	link->message = NULL;
	link->to_send = 0;
	link->to_receive = 0;
	r = reactor_add(reactor, link->fd, EPOLLIN | EPOLLOUT, &link->watch);
	if (r < 0)
		link_close(link);
	return r;
}

int link_ask(struct link *link, const struct message *m)
{
	int r;

	link->message = m;
	link->to_send = m->len;
	link->to_receive = m->answer_bytes;
	r = link_send(link);
	if (r < 0)
		link_close(link);
	return r;
}
