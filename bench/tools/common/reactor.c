/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See reactor.h. A wait ends by a high-resolution timer, to which the kernel adds the timer slack
 * of the thread, 50 us unless told otherwise (prctl(2), PR_SET_TIMERSLACK): it is told.
 */

#include "reactor.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/macro.h"
#include "base/mem.h"

#define EVENTS_A_TURN 256

struct reactor {
	int epoll_fd;
};

int reactor_new(struct reactor **ret_reactor)
{
	AUTO(reactor_free) struct reactor *reactor = NEW0(struct reactor);

	reactor->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (reactor->epoll_fd < 0)
		return -errno;
	if (prctl(PR_SET_TIMERSLACK, 1UL) < 0)
		return -errno;
	*ret_reactor = TAKE_PTR(reactor);
	return 0;
}

void reactor_free(struct reactor *reactor)
{
	if (reactor == NULL)
		return;
	if (reactor->epoll_fd >= 0)
		(void) close(reactor->epoll_fd);
	free(reactor);
}

static int control(struct reactor *reactor, int op, int fd, uint32_t events,
                   struct reactor_watch *watch)
{
	struct epoll_event event = {.events = events, .data.ptr = watch};

	return epoll_ctl(reactor->epoll_fd, op, fd, &event) < 0 ? -errno : 0;
}

int reactor_add(struct reactor *reactor, int fd, uint32_t events, struct reactor_watch *watch)
{
	return control(reactor, EPOLL_CTL_ADD, fd, events, watch);
}

int reactor_change(struct reactor *reactor, int fd, uint32_t events, struct reactor_watch *watch)
{
	return control(reactor, EPOLL_CTL_MOD, fd, events, watch);
}

int reactor_remove(struct reactor *reactor, int fd)
{
	return control(reactor, EPOLL_CTL_DEL, fd, 0, NULL);
}

int reactor_turn(struct reactor *reactor, int64_t until_ns)
{
	struct epoll_event events[EVENTS_A_TURN];
	int64_t now_ns = reactor_now_ns();
	int64_t rest_ns = MAX(until_ns - now_ns, 0);
	struct timespec rest = {.tv_sec = rest_ns / NS_PER_S, .tv_nsec = rest_ns % NS_PER_S};
	int n = epoll_pwait2(reactor->epoll_fd, events, EVENTS_A_TURN, &rest, NULL);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	for (int i = 0; i < n; i++) {
		struct reactor_watch *watch = events[i].data.ptr;

		watch->fn(watch, events[i].events);
	}
	return 0;
}

int64_t reactor_now_ns(void)
{
	struct timespec now;

	(void) clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}
