/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connect(2) on the loop. The outcome, whenever it is known, is told by the timer, so that the
 * callback never runs inside tcpcheck_new().
 */
#include "prism/probe/tcpcheck.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

struct tcpcheck {
	struct ev_loop *ev;
	tcpcheck_done_fn done;
	void *userdata;
	int fd;
	int64_t start_us;
	int r; /* -ETIMEDOUT until something else is known */
	int64_t took_us;
	ev_io writable;
	ev_timer tell;
};

void tcpcheck_free(struct tcpcheck *c)
{
	if (c == NULL)
		return;
	ev_io_stop(c->ev, &c->writable);
	ev_timer_stop(c->ev, &c->tell);
	if (c->fd >= 0)
		(void) close(c->fd);
	free(c);
}

static void settle(struct tcpcheck *c, int r)
{
	c->r = r;
	c->took_us = mono_now_us() - c->start_us;
	ev_io_stop(c->ev, &c->writable);
	ev_timer_stop(c->ev, &c->tell);
	ev_timer_set(&c->tell, 0., 0.);
	ev_timer_start(c->ev, &c->tell);
}

static void writable_cb(struct ev_loop *ev UNUSED, ev_io *w, int revents)
{
	struct tcpcheck *c = CONTAINER_OF(w, struct tcpcheck, writable);
	int error = 0;
	socklen_t len = sizeof(error);

	loop_expect_watched(revents);
	if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	settle(c, -error);
}

/* The callback may free the check, so it comes last. */
static void tell_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct tcpcheck *c = CONTAINER_OF(w, struct tcpcheck, tell);

	ev_io_stop(c->ev, &c->writable);
	c->done(c->r, c->took_us, c->userdata);
}

struct tcpcheck *tcpcheck_new(struct ev_loop *ev, const struct endpoint *endpoint,
                              int64_t timeout_us, tcpcheck_done_fn done, void *userdata)
{
	struct tcpcheck *c = NEW0(struct tcpcheck);
	struct sockaddr_storage address;
	socklen_t len = endpoint_to_sockaddr(endpoint, &address);

	c->ev = ev;
	c->done = done;
	c->userdata = userdata;
	c->start_us = mono_now_us();
	c->r = -ETIMEDOUT;
	ev_init(&c->writable, writable_cb);
	ev_timer_init(&c->tell, tell_cb, mono_to_ev(timeout_us), 0.);
	c->fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->fd < 0 ||
	    (connect(c->fd, (const struct sockaddr *) &address, len) < 0 && errno != EINPROGRESS)) {
		settle(c, -errno);
		return c;
	}
	ev_io_set(&c->writable, c->fd, EV_WRITE);
	ev_io_start(ev, &c->writable);
	ev_timer_start(ev, &c->tell);
	return c;
}
