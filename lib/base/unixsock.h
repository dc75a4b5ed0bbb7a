/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stream sockets at a path (unix(7)): one that listens, for one group of users, and a line to one.
 */

/*
 * Listens at `path`, mode 0660. A socket there that nobody serves is replaced; -EADDRINUSE when
 * somebody serves it, -EEXIST when it is not a socket, -ENAMETOOLONG beyond sun_path. The group
 * gets the socket when it exists and we may give it. Non-blocking descriptor, or -errno. Blocks:
 * for start-up.
 */
int unixsock_listen(const char *path, const char *group, int backlog);

/* Sends a line, with its newline, to who listens at `path`, and does not wait for an answer. Does
 * not block. 0 or -errno: -ENOENT and -ECONNREFUSED where nobody listens, -EAGAIN where the queue
 * is full. */
int unixsock_tell(const char *path, const char *line);
