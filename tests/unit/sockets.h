/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * TCP sockets on loopback for unit tests: pairs, listeners, one that answers no SYN, and streams
 * whose every byte tells its place. What cannot be had ends the test.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/endpoint.h"
#include "base/macro.h"

/* Far longer than anything takes on a machine that is slow. */
#define SOCKETS_WAIT_MS 30000

static inline NORETURN void sockets_die(const char *what)
{
	(void) fprintf(stderr, "cannot %s: %s\n", what, strerror(errno));
	_exit(1);
}

static inline UNUSED void sockets_set(int fd, int level, int option, int value)
{
	if (setsockopt(fd, level, option, &value, sizeof(value)) < 0)
		sockets_die("set a socket option");
}

static inline UNUSED struct endpoint sockets_near(int fd)
{
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);
	struct endpoint at;

	if (getsockname(fd, (struct sockaddr *) &address, &len) < 0 ||
	    endpoint_from_sockaddr((struct sockaddr *) &address, &at) < 0)
		sockets_die("get a socket's address");
	return at;
}

static inline UNUSED struct endpoint sockets_endpoint(const char *text)
{
	struct endpoint at;

	if (endpoint_parse(text, 0, &at) < 0)
		sockets_die(text);
	return at;
}

/* Nonblocking. port 0: any. backlog < 0: bound only, so that connections are refused. */
static inline UNUSED int sockets_listen(const char *address, uint16_t port, int backlog,
                                        struct endpoint *ret_at)
{
	struct sockaddr_storage sockaddr;
	struct endpoint at = {.port = port};
	int fd;

	if (addr_parse(address, &at.addr) < 0)
		sockets_die(address);
	fd = socket(at.addr.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		sockets_die("make a socket");
	sockets_set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (bind(fd, (struct sockaddr *) &sockaddr, endpoint_to_sockaddr(&at, &sockaddr)) < 0)
		sockets_die("bind");
	if (backlog >= 0 && listen(fd, backlog) < 0)
		sockets_die("listen");
	*ret_at = sockets_near(fd);
	return fd;
}

/* -1 with errno when the connection is refused. Nonblocking afterwards. */
static inline UNUSED int sockets_connect(const struct endpoint *to)
{
	struct sockaddr_storage address;
	socklen_t len = endpoint_to_sockaddr(to, &address);
	int fd = socket(to->addr.family, SOCK_STREAM | SOCK_CLOEXEC, 0), error;

	if (fd < 0)
		sockets_die("make a socket");
	if (connect(fd, (struct sockaddr *) &address, len) < 0) {
		error = errno;
		(void) close(fd);
		errno = error;
		return -1;
	}
	sockets_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		sockets_die("set O_NONBLOCK");
	return fd;
}

/* Whether any of `events` is there within some seconds. */
static inline UNUSED bool sockets_wait(int fd, short events)
{
	struct pollfd p = {.fd = fd, .events = events};

	return poll(&p, 1, SOCKETS_WAIT_MS) == 1;
}

static inline UNUSED int sockets_accept(int listener)
{
	int fd;

	if (!sockets_wait(listener, POLLIN))
		sockets_die("wait for a connection");
	fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0)
		sockets_die("accept");
	sockets_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	return fd;
}

/* buffer: of what is under way between them, each way and about; 0: as the kernel likes. */
static inline UNUSED void sockets_pair(int ret_fds[2], int buffer)
{
	struct endpoint at;
	int listener = sockets_listen("127.0.0.1", 0, 8, &at);

	if (buffer > 0) {
		sockets_set(listener, SOL_SOCKET, SO_RCVBUF, buffer);
		sockets_set(listener, SOL_SOCKET, SO_SNDBUF, buffer);
	}
	ret_fds[0] = sockets_connect(&at);
	if (ret_fds[0] < 0)
		sockets_die("connect");
	if (buffer > 0) {
		sockets_set(ret_fds[0], SOL_SOCKET, SO_RCVBUF, buffer);
		sockets_set(ret_fds[0], SOL_SOCKET, SO_SNDBUF, buffer);
	}
	ret_fds[1] = sockets_accept(listener);
	(void) close(listener);
}

/* Closes with a reset. */
static inline UNUSED void sockets_reset(int fd)
{
	static const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)) < 0)
		sockets_die("set SO_LINGER");
	(void) close(fd);
}

static inline UNUSED size_t sockets_unread(int fd)
{
	int n = 0;

	return ioctl(fd, FIONREAD, &n) == 0 && n > 0 ? (size_t) n : 0;
}

/* A listener whose queue is full: the kernel answers no SYN any more (listen(2), backlog). Two
 * fillers fit into a queue of length 0; a third one's SYN shows that it is full. */
struct blackhole {
	int listener;
	int fillers[4];
	struct endpoint at;
};

static inline UNUSED struct blackhole sockets_blackhole_at(const char *address, uint16_t port)
{
	struct blackhole b;
	struct sockaddr_storage sockaddr;
	socklen_t len;

	b.listener = sockets_listen(address, port, 0, &b.at);
	len = endpoint_to_sockaddr(&b.at, &sockaddr);
	for (size_t i = 0; i < ARRAY_SIZE(b.fillers); i++) {
		b.fillers[i] = socket(b.at.addr.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		(void) connect(b.fillers[i], (struct sockaddr *) &sockaddr, len);
	}
	return b;
}

static inline UNUSED struct blackhole sockets_blackhole(const char *address)
{
	return sockets_blackhole_at(address, 0);
}

static inline UNUSED void sockets_blackhole_end(struct blackhole *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(b->fillers); i++)
		(void) close(b->fillers[i]);
	(void) close(b->listener);
}

/* --- streams: each byte is a function of its place --- */

static inline uint8_t stream_byte(uint64_t at)
{
	uint64_t x = at * UINT64_C(0x9e3779b97f4a7c15);

	return (uint8_t) (x >> 56 ^ at >> 8);
}

/* Writes from *at on, until `end`, as much as goes in now. False: the socket is broken. */
static inline UNUSED bool stream_write(int fd, uint64_t *at, uint64_t end)
{
	uint8_t bytes[16384];

	while (*at < end) {
		size_t len = (size_t) MIN(end - *at, (uint64_t) sizeof(bytes));
		ssize_t n;

		for (size_t i = 0; i < len; i++)
			bytes[i] = stream_byte(*at + i);
		n = send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN;
		*at += (uint64_t) n;
	}
	return true;
}

enum stream_end {
	STREAM_GOES_ON,
	STREAM_ENDED,
	STREAM_RESET,
	STREAM_WRONG, /* a byte is not what it should be */
};

/* Reads at most `max` bytes of what is there now, and compares. */
static inline UNUSED enum stream_end stream_read(int fd, uint64_t *at, size_t max)
{
	uint8_t bytes[16384];

	while (max > 0) {
		ssize_t n = recv(fd, bytes, MIN(max, sizeof(bytes)), MSG_DONTWAIT);

		if (n == 0)
			return STREAM_ENDED;
		if (n < 0)
			return errno == EAGAIN ? STREAM_GOES_ON : STREAM_RESET;
		for (ssize_t i = 0; i < n; i++) {
			if (bytes[i] != stream_byte(*at + (uint64_t) i))
				return STREAM_WRONG;
		}
		*at += (uint64_t) n;
		max -= (size_t) n;
	}
	return STREAM_GOES_ON;
}

/* How many descriptors this process has. */
static inline UNUSED size_t sockets_count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	if (dir == NULL)
		sockets_die("list the descriptors");
	while (readdir(dir) != NULL)
		n++;
	(void) closedir(dir);
	return n;
}
