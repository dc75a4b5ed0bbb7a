/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every step that can fail is checked, close(2) included (a file system may report there what it
 * could not write). The sink is a part of the file: freeing it frees nothing.
 */
#include "etcdwatch/worker/common/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/worker/common/cancel.h"

#define BUFFER_BYTES (256 * 1024)

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

static void outfile_sink_free(struct sink *sink UNUSED)
{
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

	file->sink = (struct sink){outfile_write, outfile_finish, outfile_sink_free};
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
