/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading and atomic replacing of whole files. The temporary file lies in the target's directory,
 * because rename(2) is atomic only within one file system.
 */
#include "base/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

/* Not to wait for whoever might write into a FIFO, or type on a terminal. Other devices are fine:
 * /dev/null in the place of a file says that there is nothing. */
static int open_to_read(const char *path)
{
	AUTO(close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return S_ISFIFO(st.st_mode) ? -EOPNOTSUPP : TAKE_FD(fd);
}

int file_read(const char *path, size_t max_bytes, char **ret_data, size_t *ret_len)
{
	AUTO(close) int fd = -1;
	AUTO(free) char *data = NULL;
	size_t len = 0, room = 4096;

	fd = open_to_read(path);
	if (fd < 0)
		return fd;
	data = xcalloc(1, room);
	for (;;) {
		ssize_t n = read(fd, data + len, room - len - 1);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (n == 0)
			break;
		len += (size_t) n;
		if (len > max_bytes)
			return -EFBIG;
		if (len + 1 == room) {
			room *= 2;
			data = xreallocarray(data, room, 1);
		}
	}
	data[len] = '\0';
	*ret_data = TAKE_PTR(data);
	*ret_len = len;
	return 0;
}

int file_write_all(int fd, const void *bytes, size_t len)
{
	const char *data = bytes;

	while (len > 0) {
		ssize_t n = write(fd, data, len);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		data += n;
		len -= (size_t) n;
	}
	return 0;
}

int file_sync_directory_of(const char *path)
{
	AUTO(free) char *copy = xstrdup(path);
	AUTO(close) int fd = -1;

	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return -errno;
	return 0;
}

static int write_temporary(const char *path, const void *data, size_t len, mode_t mode,
                           enum file_durability durability)
{
	AUTO(close) int fd = -1;
	int r;

	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0)
		return -errno;
	/* The umask must not decide who may read the file. */
	if (fchmod(fd, mode) < 0)
		return -errno;
	r = file_write_all(fd, data, len);
	if (r < 0)
		return r;
	if (durability != FILE_VOLATILE && fsync(fd) < 0)
		return -errno;
	/* close(2) may report a delayed write error, on NFS for one. */
	if (close(TAKE_FD(fd)) < 0)
		return -errno;
	return 0;
}

int file_write_atomic(const char *path, const void *data, size_t len, mode_t mode,
                      enum file_durability durability)
{
	AUTO(free) char *temporary = xasprintf("%s.new.%d", path, (int) getpid());
	int r;

	/* One that is left is from an earlier process that had our pid, and of no use to anyone. */
	(void) unlink(temporary);
	r = write_temporary(temporary, data, len, mode, durability);
	if (r == 0 && rename(temporary, path) < 0)
		r = -errno;
	if (r < 0) {
		(void) unlink(temporary);
		return r;
	}
	return durability == FILE_DURABLE ? file_sync_directory_of(path) : 0;
}
