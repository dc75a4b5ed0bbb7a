/* SPDX-License-Identifier: Apache-2.0 */
/* Record locks over the whole file. */
#include "netconf/change/lockfile.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"

static const struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

int lockfile_take(const char *path)
{
	AUTO(close) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct flock lock = whole;

	if (fd < 0)
		return -errno;
	if (fcntl(fd, F_SETLK, &lock) < 0)
		return errno == EACCES ? -EAGAIN : -errno;
	return TAKE_FD(fd);
}

pid_t lockfile_holder(const char *path)
{
	/* To ask needs no more, and works where the disk has become read-only. */
	AUTO(close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct flock lock = whole;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fcntl(fd, F_GETLK, &lock) < 0)
		return -errno;
	return lock.l_type == F_UNLCK ? 0 : lock.l_pid;
}
