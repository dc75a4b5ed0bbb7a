/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of the steps is what keeps strangers out: the mode is set on the descriptor before
 * bind(2), from which Linux takes the mode of the file (net/unix/af_unix.c: unix_bind_bsd), so at
 * no moment is the socket open to more users than it will be in the end.
 */
#include "base/unixsock.h"

#include <errno.h>
#include <grp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"

#define SOCKET_MODE 0660

static int address_of(const char *path, struct sockaddr_un *ret_address)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	(void) strcpy(address.sun_path, path);
	*ret_address = address;
	return 0;
}

/* The file of a socket outlives its server; only the attempt to connect tells whether one is there.
 */
static int remove_stale(const char *path, const struct sockaddr_un *address)
{
	AUTO(close) int fd = -1;
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	/* connect(2) refuses a file of any other type as it refuses a socket without a server. */
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* EAGAIN: a server whose queue is full is a server. */
	if (connect(fd, (const struct sockaddr *) address, sizeof(*address)) == 0 || errno == EAGAIN)
		return -EADDRINUSE;
	if (errno != ECONNREFUSED)
		return errno == ENOENT ? 0 : -errno;
	if (unlink(path) < 0 && errno != ENOENT)
		return -errno;
	return 0;
}

/* Without the group, or without the right to give it, fewer may connect: no reason to stop. */
static void give_to_group(const char *path, const char *group)
{
	const struct group *entry = group != NULL ? getgrnam(group) : NULL;

	if (entry == NULL)
		return;
	if (lchown(path, (uid_t) -1, entry->gr_gid) < 0)
		log_debug("control_group_failed", "path=\"%s\" group=%s err=\"%s\"", path, group,
		          strerror(errno));
}

int unixsock_listen(const char *path, const char *group, int backlog)
{
	AUTO(close) int fd = -1;
	struct sockaddr_un address;
	int r;

	r = address_of(path, &address);
	if (r < 0)
		return r;
	r = remove_stale(path, &address);
	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || fchmod(fd, SOCKET_MODE) < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *) &address, sizeof(address)) < 0)
		return -errno;
	give_to_group(path, group);
	/* What the umask took away from the group comes back only now that it is the right group. */
	if (chmod(path, SOCKET_MODE) < 0 || listen(fd, backlog) < 0) {
		r = -errno;
		(void) unlink(path);
		return r;
	}
	return TAKE_FD(fd);
}

int unixsock_tell(const char *path, const char *line)
{
	AUTO(close) int fd = -1;
	struct sockaddr_un address;
	ssize_t n;
	int r;

	r = address_of(path, &address);
	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *) &address, sizeof(address)) < 0)
		return -errno;
	n = send(fd, line, strlen(line), MSG_NOSIGNAL);
	if (n < 0)
		return -errno;
	return (size_t) n == strlen(line) ? 0 : -EAGAIN;
}
