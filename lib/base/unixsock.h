/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A listening stream socket at a path (unix(7)), for one group of users. Blocking calls: for
 * start-up.
 */

/*
 * Listens at `path`, mode 0660. A socket there that nobody serves is replaced; -EADDRINUSE when
 * somebody serves it, -EEXIST when it is not a socket, -ENAMETOOLONG beyond sun_path. The group
 * gets the socket when it exists and we may give it. Non-blocking descriptor, or -errno.
 */
int unixsock_listen(const char *path, const char *group, int backlog);
