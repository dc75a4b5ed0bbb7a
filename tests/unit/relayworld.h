/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Connections of prism between clients and servers that the test plays itself, all in one process
 * and one loop: what the test waits for, it waits for by turning the loop.
 */

#include <ev.h>

#include "prism/conns.h"
#include "tests/unit/check.h"
#include "tests/unit/fakechecker.h"
#include "tests/unit/sockets.h"
#include "tests/unit/turn.h"

#define WORLD_MAX 3

/* A ClientHello, as far as anybody looks here: any TLS server has to answer it. */
#define HELLO "\x16\x03\x01\x00\x08\x01\x00\x00\x04hey!"
#define HELLO_BYTES (sizeof(HELLO) - 1)

enum world_kind {
	WORLD_ACCEPTS,
	WORLD_REFUSES,
	WORLD_BLACKHOLE,
};

struct world {
	struct ev_loop *ev;
	struct config config;
	struct upstreams *upstreams;
	struct conns *conns;
	size_t n;
	int listeners[WORLD_MAX]; /* -1: a black hole */
	struct blackhole holes[WORLD_MAX];
	struct endpoint at[WORLD_MAX];
	int entrance; /* where clients are accepted */
	struct endpoint entrance_at;
	unsigned n_room;
};

static inline void world_room_cb(void *userdata)
{
	((struct world *) userdata)->n_room++;
}

/* Upstreams in the order in which they are tried. The config may be changed until world_open(). */
static inline UNUSED void world_begin(struct world *w, struct ev_loop *ev, const char *kinds)
{
	*w = (struct world){.ev = ev, .config = fake_config(), .n = strlen(kinds)};
	for (size_t i = 0; i < w->n; i++) {
		w->listeners[i] = -1;
		if (kinds[i] == 'b') {
			w->holes[i] = sockets_blackhole("127.0.0.1");
			w->at[i] = w->holes[i].at;
			continue;
		}
		w->listeners[i] = sockets_listen("127.0.0.1", 0, kinds[i] == 'r' ? -1 : 64, &w->at[i]);
	}
	w->entrance = sockets_listen("127.0.0.1", 0, 1024, &w->entrance_at);
}

static inline UNUSED void world_open(struct world *w, unsigned max)
{
	w->upstreams = fake_upstreams(w->ev, &w->config, w->at, w->n);
	fake_rank(w->upstreams, w->at, w->n);
	w->conns = conns_new(w->ev, &w->config, w->upstreams, max, world_room_cb, w);
}

/* a: accepts, r: refuses, b: black hole. */
static inline UNUSED void world_new(struct world *w, struct ev_loop *ev, const char *kinds)
{
	world_begin(w, ev, kinds);
	world_open(w, 100);
}

static inline UNUSED struct upstream *world_upstream(struct world *w, size_t i)
{
	return upstreams_find(w->upstreams, &w->at[i]);
}

/* And nothing is left behind. */
static inline UNUSED void world_end(struct world *w)
{
	conns_free(w->conns);
	for (size_t i = 0; i < w->n; i++) {
		CHECK_EQ_INT(world_upstream(w, i)->connections, 0);
		CHECK_EQ_INT(world_upstream(w, i)->refs, 0);
		if (w->listeners[i] >= 0)
			(void) close(w->listeners[i]);
		else
			sockets_blackhole_end(&w->holes[i]);
	}
	upstreams_free(w->upstreams);
	(void) close(w->entrance);
}

/* --- clients and servers --- */

/* A client that prism has taken. buffer: as for sockets_pair(), of the client's connection. */
static inline UNUSED int world_client_with(struct world *w, int buffer)
{
	int fd;

	if (buffer > 0) {
		sockets_set(w->entrance, SOL_SOCKET, SO_SNDBUF, buffer);
		sockets_set(w->entrance, SOL_SOCKET, SO_RCVBUF, buffer);
	}
	fd = sockets_connect(&w->entrance_at);
	if (fd < 0)
		sockets_die("connect");
	if (buffer > 0)
		sockets_set(fd, SOL_SOCKET, SO_RCVBUF, buffer);
	conns_accept(w->conns, sockets_accept(w->entrance));
	return fd;
}

static inline UNUSED int world_client(struct world *w)
{
	return world_client_with(w, 0);
}

/* The next one that comes to an upstream; -1: none within the time. */
static inline UNUSED int world_server_within(struct world *w, size_t i, int64_t us)
{
	int64_t end_us = mono_now_us() + us;
	int fd;

	for (;;) {
		fd = accept4(w->listeners[i], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			sockets_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
			return fd;
		}
		if (mono_now_us() >= end_us)
			return -1;
		turn_once(w->ev);
	}
}

static inline UNUSED int world_server(struct world *w, size_t i)
{
	int fd = world_server_within(w, i, TURN_LIMIT_US);

	CHECK(fd >= 0);
	return fd;
}

static inline UNUSED void world_say(int fd, const char *bytes, size_t len)
{
	CHECK_EQ_INT(send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT), (ssize_t) len);
}

/* --- what is expected --- */

#define expect_bytes(w, fd, bytes, len) \
	world_expect_bytes((w), (fd), (bytes), (len), __FILE__, __LINE__)
#define expect_end(w, fd) world_expect((w), (fd), STREAM_ENDED, TURN_LIMIT_US, __FILE__, __LINE__)
#define expect_reset(w, fd) world_expect((w), (fd), STREAM_RESET, TURN_LIMIT_US, __FILE__, __LINE__)
/* Nothing comes, for a while. */
#define expect_nothing(w, fd) \
	world_expect((w), (fd), STREAM_GOES_ON, 50 * US_PER_MS, __FILE__, __LINE__)

static inline UNUSED bool world_expect_bytes(struct world *w, int fd, const char *bytes, size_t len,
                                             const char *file, int line)
{
	int64_t end_us = mono_now_us() + TURN_LIMIT_US;
	char got[70000];
	size_t n = 0;

	while (n < len && mono_now_us() < end_us) {
		ssize_t r = recv(fd, got + n, MIN(len - n, sizeof(got) - n), MSG_DONTWAIT);

		if (r == 0 || (r < 0 && errno != EAGAIN))
			break;
		n += r > 0 ? (size_t) r : 0;
		if (r < 0)
			turn_once(w->ev);
	}
	return check_int(file, line, "bytes that came", (long long) n, (long long) len) &&
	       check_true(file, line, "they are the right ones", memcmp(got, bytes, len) == 0);
}

static inline UNUSED bool world_expect(struct world *w, int fd, enum stream_end want, int64_t us,
                                       const char *file, int line)
{
	static const char *const names[] = {"nothing", "its end", "a reset", "a byte"};
	enum stream_end got = STREAM_GOES_ON;
	int64_t end_us = mono_now_us() + us;

	while (got == STREAM_GOES_ON && mono_now_us() < end_us) {
		char byte;
		ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);

		if (n == 0)
			got = STREAM_ENDED;
		else if (n > 0)
			got = STREAM_WRONG;
		else if (errno != EAGAIN)
			got = STREAM_RESET;
		else
			turn_once(w->ev);
	}
	return check_str(file, line, "what came", names[got], names[want]);
}

#define expect_no_spin(w) world_expect_no_spin((w), __FILE__, __LINE__)

/* Where nothing happens the loop sleeps: turn_once() wakes it ten times in this time. */
static inline UNUSED bool world_expect_no_spin(struct world *w, const char *file, int line)
{
	unsigned before = ev_iteration(w->ev);

	turn_for(w->ev, 100 * US_PER_MS);
	return check_true(file, line, "the loop sleeps", ev_iteration(w->ev) - before < 30);
}

/* Turns until there are so many. */
static inline UNUSED void world_expect_connections(struct world *w, unsigned n)
{
	(void) TURN_UNTIL(w->ev, conns_count(w->conns).connections == n);
	CHECK_EQ_INT(conns_count(w->conns).connections, n);
}
