/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sockets of the measuring tools: never blocking, without Nagle's delay. All return a descriptor or
 * -errno.
 */

#include "base/endpoint.h"

#define SOCK_BACKLOG 4096

int sock_listen(const struct endpoint *at);

/* One new connection; -EAGAIN when there is none. */
int sock_accept(int listener);

/* Under way when this returns. from: the source address; NULL lets the kernel choose. */
int sock_connect(const struct endpoint *to, const struct addr *from);

/* 0 or -errno: why a connection under way came to nothing. */
int sock_error(int fd);
