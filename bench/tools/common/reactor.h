/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The event loop of the measuring tools: epoll and one deadline. Not libev, whose time-outs have
 * milliseconds: a request that is due in 20 us has to leave in 20 us. Times are nanoseconds of
 * CLOCK_MONOTONIC.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

#define NS_PER_US INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)

struct reactor;
struct reactor_watch;

/* events: EPOLLIN, ... as epoll_wait(2) tells them. */
typedef void (*reactor_fn)(struct reactor_watch *watch, uint32_t events);

/* Embedded by who waits. A callback may close its own descriptor and nobody else's: events of the
 * same turn may still be on their way to them. */
struct reactor_watch {
	reactor_fn fn;
};

/* 0 or -errno. */
int reactor_new(struct reactor **ret_reactor);
void reactor_free(struct reactor *reactor);
DEFINE_AUTO(struct reactor, reactor_free);

/* Closing the descriptor ends the watch. 0 or -errno. */
int reactor_add(struct reactor *reactor, int fd, uint32_t events, struct reactor_watch *watch);
int reactor_change(struct reactor *reactor, int fd, uint32_t events, struct reactor_watch *watch);
/* For a descriptor that stays open. */
int reactor_remove(struct reactor *reactor, int fd);

/* Waits until something happens or until_ns has come, calls back. 0 or -errno. */
int reactor_turn(struct reactor *reactor, int64_t until_ns);

int64_t reactor_now_ns(void);
