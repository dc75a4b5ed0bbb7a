/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only the top is asked whose it is. If it is ours and others may not write into it, then they
 * could put nothing there; what is inside may well belong to others, as a bundle says who owns its
 * files.
 */
#include "etcdwatch/worker/common/treerm.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"

/* One descriptor each. A path in a bundle has at most half of 1 KiB, see tarfmt.h. */
#define DEPTH_MAX 520

static int open_directory(int holder, const char *name)
{
	int fd = openat(holder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Takes the descriptor. Goes on past what cannot be removed; the first of its errors. */
static int empty(int fd, unsigned depth)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *entry;
	int first = 0;

	if (dir == NULL) {
		(void) close(fd);
		return -ENOMEM;
	}
	while ((entry = readdir(dir)) != NULL) {
		int r = 0, inner;

		if (is_dot(entry->d_name))
			continue;
		if (unlinkat(fd, entry->d_name, 0) < 0)
			r = -errno;
		if (r == -EISDIR) {
			inner = depth < DEPTH_MAX ? open_directory(fd, entry->d_name) : -ELOOP;
			r = inner < 0 ? inner : empty(inner, depth + 1);
			if (r == 0 && unlinkat(fd, entry->d_name, AT_REMOVEDIR) < 0)
				r = -errno;
		}
		if (first == 0)
			first = r;
	}
	(void) closedir(dir);
	return first;
}

int treerm(int holder, const char *name)
{
	AUTO(close) int fd = open_directory(holder, name);
	struct stat st;
	int r;

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fd == -ENOTDIR || fd == -ELOOP ? -EPERM : fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return -EPERM;
	r = empty(TAKE_FD(fd), 1);
	if (r == 0 && unlinkat(holder, name, AT_REMOVEDIR) < 0)
		r = -errno;
	return r;
}
