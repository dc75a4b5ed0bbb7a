/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The listening sockets. One that systemd (sd_listen_fds(3)) or the process before this one holds
 * is taken over when its address is among those that are wanted, so that a client never sees it
 * closed. When accept(2) runs out of descriptors it pauses, and goes on when there is room: a full
 * table never ends accepting. While clients are to be refused the sockets stay bound, so that the
 * address is nobody else's meanwhile.
 */

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/endpoint.h"

#define LISTENERS_MAX 8

struct listeners;

struct listeners_callbacks {
	/* Whether another one can be taken. While it cannot, clients wait in the kernel's queue. */
	bool (*has_room)(void *userdata);
	/* Takes fd: nonblocking, close-on-exec, TCP_NODELAY. */
	void (*accepted)(int fd, void *userdata);
};

/* callbacks are borrowed until listeners_free(). */
struct listeners *listeners_new(struct ev_loop *ev, const struct listeners_callbacks *callbacks,
                                void *userdata);
void listeners_free(struct listeners *listeners);
DEFINE_AUTO(struct listeners, listeners_free);

/* A socket that listens already; taken. Those that listeners_open() does not want it closes. */
void listeners_inherit(struct listeners *listeners, int fd);
/* What systemd passed: $LISTEN_FDS, $LISTEN_PID; removed from the environment. */
void listeners_inherit_from_systemd(struct listeners *listeners);

/*
 * Opens what is wanted. 0, or -errno of the first that cannot be opened, which is logged; the
 * others are open then, and it is tried again each second. An IPv6 loopback address on a machine
 * without IPv6 is left out with a warning, when another is left.
 */
int listeners_open(struct listeners *listeners, const struct endpoint *wanted, size_t n);

/* Whether clients are refused from now on. At the beginning they are not. */
void listeners_refuse(struct listeners *listeners, bool refuse);

void listeners_close(struct listeners *listeners); /* for good */

/* There may be room again. */
void listeners_resume(struct listeners *listeners);

size_t listeners_n(const struct listeners *listeners);
struct endpoint listeners_endpoint(const struct listeners *listeners, size_t i);
int listeners_fd(const struct listeners *listeners, size_t i);       /* -1: not open */
bool listeners_is_open(const struct listeners *listeners, size_t i); /* clients are not refused */
bool listeners_are_paused(const struct listeners *listeners);
uint64_t listeners_pauses(const struct listeners *listeners);
