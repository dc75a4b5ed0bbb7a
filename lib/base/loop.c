/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the libev loop, the signal watchers and the socket to the service manager.
 */
#include "base/loop.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/mono.h"

struct loop_signal {
	ev_signal watcher;
	loop_signal_fn fn;
	void *userdata;
	SLIST_ENTRY(loop_signal) entry;
};

struct loop {
	struct ev_loop *ev;
	SLIST_HEAD(, loop_signal) signals;
	ev_timer watchdog;
	int notify_fd;
	struct sockaddr_un notify_addr;
	socklen_t notify_addr_len;
	int exit_code;
};

static void watchdog_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	loop_notify(CONTAINER_OF(w, struct loop, watchdog), "WATCHDOG=1");
}

static void signal_cb(struct ev_loop *ev UNUSED, ev_signal *w, int revents UNUSED)
{
	struct loop_signal *s = CONTAINER_OF(w, struct loop_signal, watcher);

	s->fn(w->signum, s->userdata);
}

/* sd_notify(3): $NOTIFY_SOCKET is a path, or a name in the abstract space when it begins with '@'.
 */
static int open_notify_socket(struct loop *loop)
{
	const char *path = getenv("NOTIFY_SOCKET");
	size_t len;

	if (path == NULL || path[0] == '\0')
		return 0;
	len = strlen(path);
	if (len >= sizeof(loop->notify_addr.sun_path))
		return -ENAMETOOLONG;
	loop->notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (loop->notify_fd < 0)
		return -errno;
	loop->notify_addr.sun_family = AF_UNIX;
	memcpy(loop->notify_addr.sun_path, path, len);
	if (path[0] == '@')
		loop->notify_addr.sun_path[0] = '\0';
	loop->notify_addr_len = (socklen_t) (offsetof(struct sockaddr_un, sun_path) + len);
	return 0;
}

/* sd_watchdog_enabled(3): $WATCHDOG_USEC is the limit; the advice is to report at half of it. */
static void start_watchdog(struct loop *loop)
{
	const char *usec = getenv("WATCHDOG_USEC");
	const char *pid = getenv("WATCHDOG_PID");
	long long limit_us;

	ev_timer_init(&loop->watchdog, watchdog_cb, 0., 0.);
	if (usec == NULL || (pid != NULL && atoll(pid) != (long long) getpid()))
		return;
	limit_us = atoll(usec);
	if (limit_us <= 0)
		return;
	loop->watchdog.repeat = mono_to_ev(limit_us / 2);
	ev_timer_again(loop->ev, &loop->watchdog);
}

static void woken_cb(struct ev_loop *ev UNUSED, ev_async *w UNUSED, int revents UNUSED)
{
}

/*
 * Signals and threads wake the loop through a descriptor that only libev knows. Where the kernel
 * has no memory to watch that one, the loop would never hear of them, or end as if it had nothing
 * to do. libev finds that out, and aborts, when it is woken between two waits: so it is, before all
 * else.
 */
static void wake_once(struct ev_loop *ev)
{
	ev_async wake;

	ev_async_init(&wake, woken_cb);
	ev_async_start(ev, &wake);
	ev_async_send(ev, &wake);
	(void) ev_run(ev, EVRUN_NOWAIT);
	ev_async_stop(ev, &wake);
}

int loop_new(struct loop **ret_loop)
{
	AUTO(loop_free) struct loop *loop = NEW0(struct loop);
	int r;

	loop->notify_fd = -1;
	SLIST_INIT(&loop->signals);
	(void) signal(SIGPIPE, SIG_IGN);
	loop->ev = ev_default_loop(EVFLAG_AUTO);
	if (loop->ev == NULL)
		return -ENOSYS;
	wake_once(loop->ev);
	r = open_notify_socket(loop);
	if (r < 0)
		return r;
	start_watchdog(loop);
	*ret_loop = TAKE_PTR(loop);
	return 0;
}

void loop_free(struct loop *loop)
{
	if (loop == NULL)
		return;
	while (!SLIST_EMPTY(&loop->signals)) {
		struct loop_signal *s = SLIST_FIRST(&loop->signals);

		SLIST_REMOVE_HEAD(&loop->signals, entry);
		ev_signal_stop(loop->ev, &s->watcher);
		free(s);
	}
	if (loop->ev != NULL) {
		ev_timer_stop(loop->ev, &loop->watchdog);
		ev_loop_destroy(loop->ev);
	}
	if (loop->notify_fd >= 0)
		(void) close(loop->notify_fd);
	free(loop);
}

struct ev_loop *loop_ev(struct loop *loop)
{
	return loop->ev;
}

void loop_hold_signals(bool hold)
{
	sigset_t ours;

	(void) sigemptyset(&ours);
	(void) sigaddset(&ours, SIGTERM);
	(void) sigaddset(&ours, SIGINT);
	(void) sigaddset(&ours, SIGHUP);
	(void) sigaddset(&ours, SIGUSR2);
	(void) sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &ours, NULL);
}

void loop_on_signal(struct loop *loop, int signo, loop_signal_fn fn, void *userdata)
{
	struct loop_signal *s = NEW0(struct loop_signal);

	s->fn = fn;
	s->userdata = userdata;
	ev_signal_init(&s->watcher, signal_cb, signo);
	ev_signal_start(loop->ev, &s->watcher);
	SLIST_INSERT_HEAD(&loop->signals, s, entry);
}

void loop_timer_in(struct ev_loop *ev, ev_timer *timer, int64_t us)
{
	ev_timer_stop(ev, timer);
	ev_timer_set(timer, mono_to_ev(us), 0.);
	ev_timer_start(ev, timer);
}

int loop_run(struct loop *loop)
{
	ev_run(loop->ev, 0);
	return loop->exit_code;
}

void loop_stop(struct loop *loop, int exit_code)
{
	loop->exit_code = exit_code;
	ev_break(loop->ev, EVBREAK_ALL);
}

void loop_expect_watched(int revents)
{
	if ((revents & EV_ERROR) == 0)
		return;
	log_error("watch_failed", "reason=\"the kernel has no memory to watch a descriptor\"");
	abort();
}

void loop_notify(struct loop *loop, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	if (loop->notify_fd < 0)
		return;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n <= 0)
		return;
	/* A manager that does not listen costs us a line of status, nothing else. */
	(void) sendto(loop->notify_fd, text, MIN((size_t) n, sizeof(text) - 1), MSG_NOSIGNAL,
	              (const struct sockaddr *) &loop->notify_addr, loop->notify_addr_len);
}

void loop_notify_reloading(struct loop *loop)
{
	struct timespec now;

	/* sd_notify(3) wants this clock, and mono.h's is another one. */
	(void) clock_gettime(CLOCK_MONOTONIC, &now);
	loop_notify(loop, "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
	            (int64_t) now.tv_sec * US_PER_S + now.tv_nsec / 1000);
}
