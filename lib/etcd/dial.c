/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything starts from the timer, the first attempt too: who calls dial_start() is never called
 * back from inside it. The same timer then counts the time of an attempt.
 */
#include "etcd/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/endpoint.h"
#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/resolve.h"

struct place {
	struct sockaddr_storage address;
	socklen_t len;
};

struct dial {
	struct ev_loop *ev;
	uint16_t port;
	int64_t each_us;
	dial_done_fn done;
	void *userdata;
	struct resolve *resolve; /* under way */
	struct place places[RESOLVE_ADDRS_MAX];
	size_t n_places;
	size_t next;
	int fd;          /* that connects, or has connected; -1 */
	bool is_waiting; /* for the attempt under way */
	ev_io writable;
	ev_timer timer;
	char text[DIAL_TEXT_MAX]; /* what became of the attempt before */
};

void dial_cancel(struct dial *dial)
{
	if (dial == NULL)
		return;
	ev_io_stop(dial->ev, &dial->writable);
	ev_timer_stop(dial->ev, &dial->timer);
	resolve_cancel(dial->resolve);
	if (dial->fd >= 0)
		(void) close(dial->fd);
	free(dial);
}

/* Calls out: last act. */
static void finish(struct dial *dial)
{
	dial_done_fn done = dial->done;
	void *userdata = dial->userdata;
	int fd = TAKE_FD(dial->fd);
	char text[DIAL_TEXT_MAX];

	(void) snprintf(text, sizeof(text), "%s", dial->text);
	dial_cancel(dial);
	done(fd, text, userdata);
}

static void arm(struct dial *dial, int64_t after_us)
{
	ev_timer_stop(dial->ev, &dial->timer);
	ev_timer_set(&dial->timer, mono_to_ev(after_us), 0.);
	ev_timer_start(dial->ev, &dial->timer);
}

/* The next place is tried in the loop's next turn. */
static void go_on(struct dial *dial, const char *why)
{
	(void) snprintf(dial->text, sizeof(dial->text), "%s", why);
	ev_io_stop(dial->ev, &dial->writable);
	if (dial->fd >= 0)
		(void) close(TAKE_FD(dial->fd));
	dial->is_waiting = false;
	arm(dial, 0);
}

static void attempt(struct dial *dial, const struct place *place)
{
	int on = 1;

	dial->fd = socket(place->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (dial->fd < 0) {
		go_on(dial, strerror(errno));
		return;
	}
	/* What goes out is small, and the other end waits for it. */
	if (place->address.ss_family != AF_UNIX)
		(void) setsockopt(dial->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(dial->fd, (const struct sockaddr *) &place->address, place->len) < 0 &&
	    errno != EINPROGRESS) {
		go_on(dial, strerror(errno));
		return;
	}
	dial->is_waiting = true;
	ev_io_set(&dial->writable, dial->fd, EV_WRITE);
	ev_io_start(dial->ev, &dial->writable);
	arm(dial, dial->each_us);
}

static void writable_cb(struct ev_loop *ev UNUSED, ev_io *w, int revents)
{
	struct dial *dial = CONTAINER_OF(w, struct dial, writable);
	int error = 0;
	socklen_t len = sizeof(error);

	loop_expect_watched(revents);
	if (getsockopt(dial->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (error != 0)
		go_on(dial, strerror(error));
	else
		finish(dial);
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct dial *dial = CONTAINER_OF(w, struct dial, timer);

	if (dial->is_waiting)
		go_on(dial, strerror(ETIMEDOUT));
	else if (dial->next < dial->n_places)
		attempt(dial, &dial->places[dial->next++]);
	else
		finish(dial);
}

static void add_addr(struct dial *dial, const struct addr *addr)
{
	const struct endpoint endpoint = {.addr = *addr, .port = dial->port};
	struct place *place = &dial->places[dial->n_places++];

	place->len = endpoint_to_sockaddr(&endpoint, &place->address);
}

static void resolved_cb(const struct resolve_result *result, void *userdata)
{
	struct dial *dial = userdata;

	dial->resolve = NULL;
	for (size_t i = 0; i < result->n; i++)
		add_addr(dial, &result->addrs[i]);
	go_on(dial, result->error);
}

/* 0 or -errno. */
static int add_path(struct dial *dial, const char *path)
{
	struct place *place = &dial->places[0];
	struct sockaddr_un *address = (struct sockaddr_un *) &place->address;

	if (strlen(path) >= sizeof(address->sun_path))
		return -ENAMETOOLONG;
	address->sun_family = AF_UNIX;
	memcpy(address->sun_path, path, strlen(path) + 1);
	place->len = sizeof(*address);
	dial->n_places = 1;
	return 0;
}

struct dial *dial_start(struct ev_loop *ev, const struct url *url, int64_t each_us,
                        dial_done_fn done, void *userdata)
{
	struct dial *dial = NEW0(struct dial);
	int r = 0;

	dial->ev = ev;
	dial->port = url->port;
	dial->each_us = each_us;
	dial->done = done;
	dial->userdata = userdata;
	dial->fd = -1;
	ev_init(&dial->writable, writable_cb);
	ev_init(&dial->timer, timer_cb);
	if (url->scheme == URL_UNIX)
		r = add_path(dial, url->path);
	else if (addr_is_set(&url->addr))
		add_addr(dial, &url->addr);
	else
		r = resolve_start(ev, url->host, RESOLVE_ANY, resolved_cb, dial, &dial->resolve);
	if (dial->resolve == NULL)
		go_on(dial, r < 0 ? strerror(-r) : "");
	return dial;
}
