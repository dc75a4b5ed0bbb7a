/* SPDX-License-Identifier: Apache-2.0 */
#include "etcdwatch/worker/common/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"

uint64_t room_of(const struct statvfs *fs, bool is_root)
{
	return (uint64_t) (is_root ? fs->f_bfree : fs->f_bavail) * fs->f_frsize;
}

static int ask(const char *directory, bool is_root, uint64_t *ret_bytes)
{
	struct statvfs fs;

	if (statvfs(directory, &fs) < 0)
		return -errno;
	*ret_bytes = room_of(&fs, is_root);
	return 0;
}

int room_free_bytes(const char *directory, uint64_t *ret_bytes)
{
	return ask(directory, geteuid() == 0, ret_bytes);
}

int room_common_bytes(const char *directory, uint64_t *ret_bytes)
{
	return ask(directory, false, ret_bytes);
}

int room_check(const char *path, uint64_t need_bytes, struct problem *problem, const char *fmt, ...)
{
	AUTO(free) char *copy = xstrdup(path);
	const char *directory = dirname(copy);
	char purpose[PROBLEM_REASON_MAX / 2];
	uint64_t free_bytes = 0;
	va_list ap;

	if (room_free_bytes(directory, &free_bytes) < 0 || free_bytes >= need_bytes)
		return 0;
	va_start(ap, fmt);
	(void) vsnprintf(purpose, sizeof(purpose), fmt, ap);
	va_end(ap);
	return problem_set(problem, -ENOSPC, "NO_SPACE",
	                   "%s takes %" PRIu64 " bytes, and %" PRIu64
	                   " are free in '%s': make room, or use another disk",
	                   purpose, need_bytes, free_bytes, directory);
}

/* --- trees --- */

#define TREE_FDS 16

static int remove_one(const char *path, const struct stat *st UNUSED, int type UNUSED,
                      struct FTW *ftw UNUSED)
{
	return remove(path) < 0 && errno != ENOENT ? -errno : 0;
}

int file_remove_tree(const char *path)
{
	int r = nftw(path, remove_one, TREE_FDS, FTW_DEPTH | FTW_PHYS);

	if (r == -1)
		r = errno == ENOENT ? 0 : -errno;
	return r;
}

/*
 * Only the top is asked whose it is. If it is ours and others may not write into it, then they
 * could put nothing there; what is inside may well belong to others, as a bundle says who owns its
 * files.
 */

/* One descriptor each. A path in a bundle has at most half of 1 KiB, see bundle.h. */
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

/* --- infile --- */

/* In pieces that are large enough for a disk and small enough to be cancelled between. */

#define BUFFER_BYTES (256 * 1024)

int infile_open(const char *path, struct problem *problem, int *ret_fd, mode_t *ret_mode,
                uint64_t *ret_bytes)
{
	AUTO(close) int fd = -1;
	struct stat st;

	/* A pipe in the file's place must not hold us up. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0)
		return problem_set_errno(problem, -errno, "cannot read '%s'", path);
	if (!S_ISREG(st.st_mode))
		return problem_set(problem, -EINVAL, "NOT_FOUND", "'%s' is not a regular file", path);
	(void) posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	*ret_mode = st.st_mode & 07777;
	*ret_bytes = (uint64_t) st.st_size;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int file_feed(int fd, uint64_t max_bytes, struct sink *sink, uint64_t *ret_bytes)
{
	AUTO(free) char *buffer = xcalloc(1, BUFFER_BYTES);
	uint64_t n_bytes = 0;
	int r = 0;

	while (r == 0 && n_bytes < max_bytes) {
		ssize_t n = read(fd, buffer, (size_t) MIN(max_bytes - n_bytes, (uint64_t) BUFFER_BYTES));

		if (cancel_is_wanted())
			return -ECANCELED;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			r = n < 0 ? -errno : 0;
			break;
		}
		n_bytes += (uint64_t) n;
		r = sink_write(sink, buffer, (size_t) n);
	}
	if (ret_bytes != NULL)
		*ret_bytes = n_bytes;
	return r;
}

int infile_feed(int fd, const char *path, const char *step, struct sink *sink,
                struct problem *problem)
{
	AUTO(free) char *buffer = xcalloc(1, BUFFER_BYTES);
	struct stat st = {0};
	struct pace pace;
	uint64_t n_bytes = 0;

	(void) fstat(fd, &st);
	pace_begin(&pace, step, (uint64_t) st.st_size);
	for (;;) {
		ssize_t n;
		int r;

		if (cancel_is_wanted())
			return problem_set(problem, -ECANCELED, "CANCELLED", "cancelled");
		n = read(fd, buffer, BUFFER_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return problem_set_errno(problem, -errno, "cannot read '%s'", path);
		if (n == 0)
			return 0;
		r = sink_write(sink, buffer, (size_t) n);
		if (r < 0)
			return r;
		n_bytes += (uint64_t) n;
		pace_tell(&pace, n_bytes);
	}
}

/* --- outfile --- */

/*
 * Every step that can fail is checked, close(2) included (a file system may report there what it
 * could not write). The sink is a part of the file: freeing it frees nothing.
 */

struct outfile {
	struct sink sink;
	char *path; /* NULL: it has no name, and `temporary` is for sentences */
	char *temporary;
	int fd;
	bool settled; /* committed, or to be kept as it is */
	struct problem *problem;
};

static int outfile_write(struct sink *sink, const void *data, size_t len)
{
	struct outfile *file = CONTAINER_OF(sink, struct outfile, sink);
	const char *p = data;

	while (len > 0) {
		ssize_t n;

		if (cancel_is_wanted())
			return problem_set(file->problem, -ECANCELED, "CANCELLED", "cancelled");
		n = write(file->fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return problem_set_errno(file->problem, -errno, "cannot write '%s'", file->temporary);
		p += n;
		len -= (size_t) n;
	}
	return 0;
}

static int outfile_finish(struct sink *sink)
{
	struct outfile *file = CONTAINER_OF(sink, struct outfile, sink);

	/* A file without a name does not outlive this machine's next start. */
	if (file->path == NULL)
		return 0;
	if (fsync(file->fd) < 0)
		return problem_set_errno(file->problem, -errno, "cannot sync '%s'", file->temporary);
	return 0;
}

static char *temporary_name(const char *path)
{
	AUTO(free) char *copy = xstrdup(path);
	AUTO(free) char *again = xstrdup(path);

	return xasprintf("%s/.%s.new", dirname(copy), basename(again));
}

static int open_temporary(struct outfile *file, mode_t mode)
{
	(void) unlink(file->temporary);
	file->fd = open(file->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	/* The umask must not decide who may read the file. */
	if (file->fd < 0 || fchmod(file->fd, mode) < 0)
		return problem_set_errno(file->problem, -errno, "cannot create '%s'", file->temporary);
	return 0;
}

static struct outfile *file_new(const char *path, struct problem *problem)
{
	struct outfile *file = NEW0(struct outfile);

	file->sink = (struct sink){outfile_write, outfile_finish, sink_free_nothing};
	file->path = xstrdup(path);
	file->temporary = temporary_name(path);
	file->fd = -1;
	file->problem = problem;
	return file;
}

int outfile_new(const char *path, mode_t mode, struct problem *problem, struct outfile **ret_file)
{
	AUTO(outfile_free) struct outfile *file = file_new(path, problem);
	int r;

	r = open_temporary(file, mode);
	if (r < 0)
		return r;
	*ret_file = TAKE_PTR(file);
	return 0;
}

/* Where others may write into the directory, they may have made the file first, to read what comes
 * into it. One that a process of ours left is ours, has this one name, and nobody else may open it.
 */
static bool is_our_own(int fd, mode_t mode)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	       st.st_nlink == 1 && (st.st_mode & 07777) == mode;
}

static int open_left_or_new(struct outfile *file, mode_t mode)
{
	/* O_NONBLOCK: it may be anything. */
	file->fd = open(file->temporary, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (file->fd >= 0) {
		if (is_our_own(file->fd, mode))
			return 0;
		(void) close(TAKE_FD(file->fd));
	}
	return open_temporary(file, mode);
}

/* What is there, which may be nothing. */
static int hash_beginning(struct outfile *file, struct digest *digest, uint64_t *ret_bytes)
{
	AUTO(free) char *buffer = xcalloc(1, BUFFER_BYTES);
	uint64_t n_bytes = 0;

	for (;;) {
		ssize_t n = read(file->fd, buffer, BUFFER_BYTES);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return problem_set_errno(file->problem, -errno, "cannot read '%s'", file->temporary);
		if (n == 0)
			break;
		digest_update(digest, buffer, (size_t) n);
		n_bytes += (uint64_t) n;
	}
	*ret_bytes = n_bytes;
	return 0;
}

int outfile_new_behind(const char *path, mode_t mode, struct digest *digest,
                       struct problem *problem, struct outfile **ret_file, uint64_t *ret_bytes)
{
	AUTO(outfile_free) struct outfile *file = file_new(path, problem);
	int r;

	r = open_left_or_new(file, mode);
	if (r == 0)
		r = hash_beginning(file, digest, ret_bytes);
	if (r < 0)
		return r;
	*ret_file = TAKE_PTR(file);
	return 0;
}

int outfile_new_at(int fd, const char *name, struct problem *problem, struct outfile **ret_file)
{
	AUTO(outfile_free) struct outfile *file = file_new(name, problem);

	free(TAKE_PTR(file->path));
	free(file->temporary);
	file->temporary = xstrdup(name);
	file->settled = true;
	file->fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (file->fd < 0)
		return problem_set_errno(problem, -errno, "cannot write '%s'", name);
	*ret_file = TAKE_PTR(file);
	return 0;
}

int outfile_restart(struct outfile *file)
{
	if (ftruncate(file->fd, 0) < 0 || lseek(file->fd, 0, SEEK_SET) < 0)
		return problem_set_errno(file->problem, -errno, "cannot truncate '%s'", file->temporary);
	return 0;
}

void outfile_keep(struct outfile *file)
{
	file->settled = true;
}

void outfile_free(struct outfile *file)
{
	if (file == NULL)
		return;
	if (file->fd >= 0)
		(void) close(file->fd);
	if (!file->settled)
		(void) unlink(file->temporary);
	free(file->path);
	free(file->temporary);
	free(file);
}

struct sink *outfile_sink(struct outfile *file)
{
	return &file->sink;
}

int outfile_fd(const struct outfile *file)
{
	return file->fd;
}

int outfile_open_again(struct outfile *file, int *ret_fd)
{
	int fd;

	/* What is synced can be dropped from memory; then reading asks the disk. */
	(void) posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED);
	fd = open(file->temporary, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return problem_set_errno(file->problem, -errno, "cannot read back '%s'", file->temporary);
	*ret_fd = fd;
	return 0;
}

int outfile_commit(struct outfile *file)
{
	int r;

	if (close(TAKE_FD(file->fd)) < 0)
		return problem_set_errno(file->problem, -errno, "cannot close '%s'", file->temporary);
	if (file->path == NULL)
		return 0;
	if (rename(file->temporary, file->path) < 0)
		return problem_set_errno(file->problem, -errno, "cannot rename '%s' to '%s'",
		                         file->temporary, file->path);
	file->settled = true;
	r = file_sync_directory_of(file->path);
	if (r < 0)
		return problem_set_errno(file->problem, r, "cannot sync the directory of '%s'", file->path);
	return 0;
}
