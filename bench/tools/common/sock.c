/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See sock.h.
 */

#include "sock.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/cleanup.h"

static int no_delay(int fd)
{
	int on = 1;

	return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 ? -errno : 0;
}

static int open_socket(sa_family_t family)
{
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

int sock_listen(const struct endpoint *at)
{
	struct sockaddr_storage address;
	socklen_t len = endpoint_to_sockaddr(at, &address);
	AUTO(close) int fd = open_socket(at->addr.family);
	int on = 1;

	if (fd < 0)
		return fd;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *) &address, len) < 0 || listen(fd, SOCK_BACKLOG) < 0)
		return -errno;
	return TAKE_FD(fd);
}

int sock_accept(int listener)
{
	AUTO(close) int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	r = no_delay(fd);
	if (r < 0)
		return r;
	return TAKE_FD(fd);
}

/* The port is chosen at connect(2), by the whole four-tuple: bind(2) alone would use up a port of
 * this address for all destinations (ip(7), IP_BIND_ADDRESS_NO_PORT). */
static int bind_source(int fd, const struct addr *from)
{
	struct sockaddr_storage address;
	struct endpoint source = {.addr = *from};
	socklen_t len = endpoint_to_sockaddr(&source, &address);
	int on = 1;

	if (setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on)) < 0)
		return -errno;
	return bind(fd, (const struct sockaddr *) &address, len) < 0 ? -errno : 0;
}

int sock_connect(const struct endpoint *to, const struct addr *from)
{
	struct sockaddr_storage address;
	socklen_t len = endpoint_to_sockaddr(to, &address);
	AUTO(close) int fd = open_socket(to->addr.family);
	int r;

	if (fd < 0)
		return fd;
	r = no_delay(fd);
	if (r >= 0 && from != NULL)
		r = bind_source(fd, from);
	if (r < 0)
		return r;
	if (connect(fd, (const struct sockaddr *) &address, len) < 0 && errno != EINPROGRESS)
		return -errno;
	return TAKE_FD(fd);
}

int sock_error(int fd)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		return -errno;
	return -error;
}
