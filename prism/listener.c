/* SPDX-License-Identifier: Apache-2.0 */
/* Accepts in small batches: what waits behind them is served as well. */
#include "prism/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

#define ACCEPT_BATCH_MAX 16
#define BACKLOG 4096 /* the kernel cuts it to net.core.somaxconn */
#define PAUSE_S 0.1
#define RETRY_S 1.0
#define INHERITED_MAX 32
#define SYSTEMD_FIRST_FD 3 /* SD_LISTEN_FDS_START */

struct listener {
	ev_io io;       /* fd -1: could not be opened, or closed */
	bool listening; /* else its clients are refused */
	int batch;      /* how many to accept at once */
	unsigned turn;  /* of the loop, when it was accepted last */
	struct endpoint endpoint;
};

struct listeners {
	struct ev_loop *ev;
	const struct listeners_callbacks *callbacks;
	void *userdata;
	struct listener items[LISTENERS_MAX];
	size_t n;
	int inherited[INHERITED_MAX];
	size_t n_inherited;
	bool refusing;
	ev_timer pause;
	ev_timer retry;
	uint64_t pauses;
	struct log_ratelimit pause_limit;
	struct log_ratelimit retry_limit;
};

/* --- accepting --- */

static void watch_all(struct listeners *l)
{
	if (ev_is_active(&l->pause))
		return;
	for (size_t i = 0; i < l->n; i++) {
		if (l->items[i].listening)
			ev_io_start(l->ev, &l->items[i].io);
	}
}

static void pause_accepting(struct listeners *l, const char *reason)
{
	unsigned suppressed;

	for (size_t i = 0; i < l->n; i++)
		ev_io_stop(l->ev, &l->items[i].io);
	ev_timer_set(&l->pause, PAUSE_S, 0.);
	ev_timer_start(l->ev, &l->pause);
	l->pauses++;
	if (log_ratelimit_allow(&l->pause_limit, mono_now_us(), &suppressed))
		log_warning("accept_paused", "reason=\"%s\" suppressed=%u", reason, suppressed);
}

void listeners_resume(struct listeners *l)
{
	if (!ev_is_active(&l->pause))
		return;
	ev_timer_stop(l->ev, &l->pause);
	watch_all(l);
}

static void pause_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	watch_all(CONTAINER_OF(w, struct listeners, pause));
}

/* Most clients come alone: to ask for another at once would be in vain. Where more wait in the very
 * next turn of the loop, more are taken each turn. */
static void accept_cb(struct ev_loop *ev, ev_io *w, int revents)
{
	struct listener *item = CONTAINER_OF(w, struct listener, io);
	struct listeners *l = w->data;
	unsigned turn = ev_iteration(ev);

	/* The kernel had no memory to watch it. Those that are relayed go on, and it is tried again. */
	if ((revents & EV_ERROR) != 0) {
		pause_accepting(l, "the kernel has no memory to watch a descriptor");
		return;
	}
	item->batch = turn == item->turn + 1 ? MIN(2 * item->batch, ACCEPT_BATCH_MAX) : 1;
	item->turn = turn;
	for (int i = 0; i < item->batch; i++) {
		int fd;

		if (!l->callbacks->has_room(l->userdata)) {
			pause_accepting(l, "no room for another connection");
			return;
		}
		fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0) {
			/* Anything else is the trouble of one client that is gone already (accept(2)). */
			if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
				pause_accepting(l, strerror(errno));
			return;
		}
		l->callbacks->accepted(fd, l->userdata);
		/* It may have closed the listeners. */
		if (!ev_is_active(w))
			return;
	}
}

/* --- opening --- */

static int endpoint_of_socket(int fd, struct endpoint *ret)
{
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);

	if (getsockname(fd, (struct sockaddr *) &address, &len) < 0)
		return -errno;
	return endpoint_from_sockaddr((struct sockaddr *) &address, ret);
}

/* Accepted sockets inherit these, which saves a call for each. -errno also for what is no TCP
 * socket.
 */
static int set_options(int fd)
{
	int on = 1, flags;

	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)) < 0)
		return -errno;
	return 0;
}

static int open_socket(const struct endpoint *at)
{
	AUTO(close) int fd = -1;
	struct sockaddr_storage address;
	socklen_t len = endpoint_to_sockaddr(at, &address);
	int on = 1, r;

	fd = socket(at->addr.family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return -errno;
	if (at->addr.family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0)
		return -errno;
	r = set_options(fd);
	if (r < 0)
		return r;
	if (bind(fd, (struct sockaddr *) &address, len) < 0)
		return -errno;
	return TAKE_FD(fd);
}

/* A socket that was shut down for reading does not listen any more but is still bound
 * (inet_shutdown() in the kernel): who connects is refused, and listen(2) begins anew. 0 or -errno.
 */
static int set_listening(struct listeners *l, struct listener *item, bool listening)
{
	if (listening && listen(item->io.fd, BACKLOG) < 0)
		return -errno;
	if (!listening) {
		ev_io_stop(l->ev, &item->io);
		(void) shutdown(item->io.fd, SHUT_RD);
	}
	item->listening = listening;
	return 0;
}

static int take_inherited(struct listeners *l, const struct endpoint *at)
{
	for (size_t i = 0; i < l->n_inherited; i++) {
		int fd = l->inherited[i];
		struct endpoint have;

		if (endpoint_of_socket(fd, &have) < 0 || !endpoint_equal(&have, at) || set_options(fd) < 0)
			continue;
		l->inherited[i] = l->inherited[--l->n_inherited];
		return fd;
	}
	return -ENOENT;
}

static void drop_inherited(struct listeners *l)
{
	for (size_t i = 0; i < l->n_inherited; i++) {
		struct endpoint have;
		char text[ENDPOINT_TEXT_MAX] = "";

		if (endpoint_of_socket(l->inherited[i], &have) == 0)
			(void) endpoint_format(&have, text);
		log_info("listener_dropped", "listen=%s reason=\"it is not configured\"", text);
		(void) close(l->inherited[i]);
	}
	l->n_inherited = 0;
}

static bool may_be_left_out(const struct endpoint *at, int error, size_t n_wanted)
{
	return n_wanted > 1 && at->addr.family == AF_INET6 && addr_is_loopback(&at->addr) &&
	       (error == -EADDRNOTAVAIL || error == -EAFNOSUPPORT);
}

/* 0 or -errno. Opens it if need be, then makes it what it should be. */
static int settle(struct listeners *l, struct listener *item)
{
	int fd, r;

	if (item->io.fd < 0) {
		fd = take_inherited(l, &item->endpoint);
		if (fd == -ENOENT)
			fd = open_socket(&item->endpoint);
		if (fd < 0)
			return fd;
		ev_io_set(&item->io, fd, EV_READ);
	}
	r = set_listening(l, item, !l->refusing);
	if (r < 0)
		return r;
	watch_all(l);
	return 0;
}

static void retry_later(struct listeners *l)
{
	ev_timer_stop(l->ev, &l->retry);
	ev_timer_set(&l->retry, RETRY_S, 0.);
	ev_timer_start(l->ev, &l->retry);
}

static void settle_all(struct listeners *l)
{
	char text[ENDPOINT_TEXT_MAX];
	unsigned suppressed;
	int r;

	ev_timer_stop(l->ev, &l->retry);
	for (size_t i = 0; i < l->n; i++) {
		struct listener *item = &l->items[i];

		if (item->io.fd >= 0 && item->listening != l->refusing)
			continue;
		r = settle(l, item);
		if (r < 0)
			retry_later(l);
		if (r < 0 && log_ratelimit_allow(&l->retry_limit, mono_now_us(), &suppressed))
			log_error_errno(r, "listen_failed", "listen=%s suppressed=%u reason=\"tried again\"",
			                endpoint_format(&item->endpoint, text), suppressed);
	}
}

static void retry_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	settle_all(CONTAINER_OF(w, struct listeners, retry));
}

void listeners_refuse(struct listeners *l, bool refuse)
{
	l->refusing = refuse;
	settle_all(l);
}

static int open_one(struct listeners *l, const struct endpoint *at, size_t n_wanted)
{
	struct listener *item = &l->items[l->n];
	char text[ENDPOINT_TEXT_MAX];
	int r;

	item->endpoint = *at;
	item->listening = false;
	item->batch = 1;
	item->turn = 0;
	ev_io_init(&item->io, accept_cb, -1, EV_READ);
	item->io.data = l;
	r = settle(l, item);
	if (r < 0 && may_be_left_out(at, r, n_wanted)) {
		log_warning("listen_left_out", "listen=%s reason=\"there is no IPv6 here\"",
		            endpoint_format(at, text));
		return 0;
	}
	l->n++;
	if (r < 0)
		log_error_errno(r, "listen_failed", "listen=%s", endpoint_format(at, text));
	return r;
}

int listeners_open(struct listeners *l, const struct endpoint *wanted, size_t n)
{
	int first = 0;

	for (size_t i = 0; i < n && i < LISTENERS_MAX; i++) {
		int r = open_one(l, &wanted[i], n);

		first = first < 0 ? first : r;
	}
	drop_inherited(l);
	watch_all(l);
	if (first < 0)
		retry_later(l);
	return first;
}

void listeners_close(struct listeners *l)
{
	ev_timer_stop(l->ev, &l->pause);
	ev_timer_stop(l->ev, &l->retry);
	for (size_t i = 0; i < l->n; i++) {
		struct listener *item = &l->items[i];

		if (item->io.fd < 0)
			continue;
		ev_io_stop(l->ev, &item->io);
		(void) close(item->io.fd);
		ev_io_set(&item->io, -1, EV_READ);
		item->listening = false;
	}
}

/* --- from elsewhere --- */

void listeners_inherit(struct listeners *l, int fd)
{
	if (l->n_inherited == INHERITED_MAX) {
		(void) close(fd);
		return;
	}
	l->inherited[l->n_inherited++] = fd;
}

void listeners_inherit_from_systemd(struct listeners *l)
{
	const char *n_text = getenv("LISTEN_FDS");
	const char *pid_text = getenv("LISTEN_PID");

	if (n_text != NULL && pid_text != NULL && atoll(pid_text) == (long long) getpid()) {
		int n = MIN(atoi(n_text), INHERITED_MAX);

		for (int i = 0; i < n; i++)
			listeners_inherit(l, SYSTEMD_FIRST_FD + i);
	}
	(void) unsetenv("LISTEN_FDS");
	(void) unsetenv("LISTEN_PID");
	(void) unsetenv("LISTEN_FDNAMES");
}

struct listeners *listeners_new(struct ev_loop *ev, const struct listeners_callbacks *callbacks,
                                void *userdata)
{
	struct listeners *l = NEW0(struct listeners);

	l->ev = ev;
	l->callbacks = callbacks;
	l->userdata = userdata;
	l->pause_limit = (struct log_ratelimit){.interval_us = 10 * US_PER_S, .burst = 1};
	l->retry_limit = (struct log_ratelimit){.interval_us = 60 * US_PER_S, .burst = 1};
	ev_init(&l->pause, pause_cb);
	ev_init(&l->retry, retry_cb);
	return l;
}

void listeners_free(struct listeners *l)
{
	if (l == NULL)
		return;
	listeners_close(l);
	for (size_t i = 0; i < l->n_inherited; i++)
		(void) close(l->inherited[i]);
	free(l);
}

size_t listeners_n(const struct listeners *l)
{
	return l->n;
}

struct endpoint listeners_endpoint(const struct listeners *l, size_t i)
{
	return l->items[i].endpoint;
}

int listeners_fd(const struct listeners *l, size_t i)
{
	return l->items[i].io.fd;
}

bool listeners_is_open(const struct listeners *l, size_t i)
{
	return l->items[i].listening;
}

bool listeners_are_paused(const struct listeners *l)
{
	return l->pause.active != 0; /* ev_is_active() would cast const away */
}

uint64_t listeners_pauses(const struct listeners *l)
{
	return l->pauses;
}
