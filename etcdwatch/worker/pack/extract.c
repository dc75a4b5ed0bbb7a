/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each path is walked from our own directory, one component at a time, and never through a link;
 * nothing that is there is opened for writing. Directories can be written into until the end, and
 * only then get the permissions that they had.
 */
#include "etcdwatch/worker/pack/extract.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/worker/common/file.h"

struct directory {
	char *path;
	unsigned mode;
	unsigned uid;
	unsigned gid;
};

struct extract {
	char *path;
	char *root; /* where it is until it is finished */
	bool finished;
	int holder; /* the directory that `root` is in */
	int root_fd;
	int fd; /* of the file that is being written, or -1 */
	struct tar_entry entry;
	struct directory *directories;
	size_t n_directories;
	struct problem *problem;
};

static int refuse(struct extract *x, const char *path)
{
	return problem_set(x->problem, -EBADMSG, "CORRUPT",
	                   "the bundle has a path that leads astray: '%s'", path);
}

static int fail(struct extract *x, int r, const char *path)
{
	return problem_set_errno(x->problem, r, "cannot write '%s%s'", x->root, path);
}

static const char *root_name(const struct extract *x)
{
	return strrchr(x->root, '/') + 1;
}

/* Makes the directory, instead of one that an earlier process of ours left. */
static int make_root(struct extract *x)
{
	int r = treerm(x->holder, root_name(x));

	if (r == -EPERM)
		return problem_set(x->problem, r, "DIRECTORY",
		                   "'%s' is in the way, and was not made by this program", x->root);
	if (r < 0)
		return problem_set_errno(x->problem, r, "cannot remove the directory '%s'", x->root);
	if (mkdirat(x->holder, root_name(x), 0700) < 0)
		return problem_set_errno(x->problem, -errno, "cannot make the directory '%s'", x->root);
	x->root_fd = openat(x->holder, root_name(x), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (x->root_fd < 0)
		return problem_set_errno(x->problem, -errno, "cannot open the directory '%s'", x->root);
	return 0;
}

int extract_new(const char *directory, struct problem *problem, struct extract **ret_extract)
{
	AUTO(extract_free) struct extract *x = NEW0(struct extract);
	AUTO(free) char *copy = xstrdup(directory);
	AUTO(free) char *again = xstrdup(directory);
	const char *holder = dirname(copy);
	int r;

	x->path = xstrdup(directory);
	x->root = xasprintf("%s/.%s.new", holder, basename(again));
	x->holder = x->root_fd = x->fd = -1;
	x->problem = problem;
	if (access(directory, F_OK) == 0)
		return problem_set_errno(problem, -EEXIST, "cannot make the directory '%s'", directory);
	x->holder = open(holder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (x->holder < 0)
		return problem_set_errno(problem, -errno, "cannot open the directory '%s'", holder);
	r = make_root(x);
	if (r < 0)
		return r;
	*ret_extract = TAKE_PTR(x);
	return 0;
}

void extract_free(struct extract *x)
{
	if (x == NULL)
		return;
	if (x->fd >= 0)
		(void) close(x->fd);
	/* What cannot be removed stays, under a name that says what it is. */
	if (!x->finished && x->root_fd >= 0)
		(void) treerm(x->holder, root_name(x));
	if (x->root_fd >= 0)
		(void) close(x->root_fd);
	if (x->holder >= 0)
		(void) close(x->holder);
	for (size_t i = 0; i < x->n_directories; i++)
		free(x->directories[i].path);
	free(x->directories);
	free(x->path);
	free(x->root);
	free(x);
}

/* --- walking --- */

static bool is_sound(const char *component)
{
	return component[0] != '\0' && strcmp(component, ".") != 0 && strcmp(component, "..") != 0;
}

/* Into a directory, which is made if need be: its parents may not be in the bundle. */
static int step(int parent, const char *name, bool make, int *ret_fd)
{
	int fd;

	if (make && mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

/* The directory in which the last component of the path is, or is to be. */
static int open_parent(struct extract *x, const char *path, bool make, int *ret_fd,
                       const char **ret_name)
{
	AUTO(free) char *copy = xstrdup(path);
	AUTO(close) int fd = -1;
	char *rest = copy, *name;

	if (path[0] != '/')
		return refuse(x, path);
	fd = fcntl(x->root_fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return fail(x, -errno, path);
	rest++;
	while ((name = strsep(&rest, "/")) != NULL) {
		int next = -1, r;

		if (!is_sound(name))
			return refuse(x, path);
		if (rest == NULL)
			break;
		r = step(fd, name, make, &next);
		if (r == -ELOOP || r == -ENOTDIR)
			return refuse(x, path);
		if (r < 0)
			return fail(x, r, path);
		(void) close(fd);
		fd = next;
	}
	*ret_name = strrchr(path, '/') + 1;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* --- entries --- */

static void remember(struct extract *x)
{
	x->directories = xreallocarray(x->directories, x->n_directories + 1, sizeof(*x->directories));
	x->directories[x->n_directories++] = (struct directory){
	    .path = xstrdup(x->entry.path),
	    .mode = x->entry.mode,
	    .uid = x->entry.uid,
	    .gid = x->entry.gid,
	};
}

static int make(struct extract *x, int parent, const char *name)
{
	const struct tar_entry *e = &x->entry;

	switch (e->type) {
	case TAR_FILE:
		x->fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		return x->fd < 0 ? -errno : 0;
	case TAR_SYMLINK:
		return symlinkat(e->link, parent, name) < 0 ? -errno : 0;
	case TAR_DIRECTORY:
		/* It may have been made for what is in it. */
		if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
			return -errno;
		remember(x);
		return 0;
	case TAR_PAX:
		break;
	}
	return -EBADMSG;
}

int extract_begin(struct extract *x, const struct tar_entry *entry)
{
	AUTO(close) int parent = -1;
	const char *name;
	int r;

	x->entry = *entry;
	r = open_parent(x, x->entry.path, true, &parent, &name);
	if (r < 0)
		return r;
	r = make(x, parent, name);
	return r < 0 ? fail(x, r, entry->path) : 0;
}

int extract_data(struct extract *x, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = write(x->fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(x, -errno, x->entry.path);
		p += n;
		len -= (size_t) n;
	}
	return 0;
}

/* The owner first: giving a file away takes the set-user-id bit from it. */
static int dress(int fd, unsigned mode, unsigned uid, unsigned gid)
{
	if (geteuid() == 0 && fchown(fd, uid, gid) < 0)
		return -errno;
	return fchmod(fd, mode) < 0 ? -errno : 0;
}

int extract_end(struct extract *x)
{
	int r;

	if (x->entry.type != TAR_FILE)
		return 0;
	r = dress(x->fd, x->entry.mode, x->entry.uid, x->entry.gid);
	if (r == 0 && fsync(x->fd) < 0)
		r = -errno;
	if (close(TAKE_FD(x->fd)) < 0 && r == 0)
		r = -errno;
	return r < 0 ? fail(x, r, x->entry.path) : 0;
}

int extract_finish(struct extract *x)
{
	/* From the inside out: a directory may not be passed any more when it has its permissions. */
	for (size_t i = x->n_directories; i > 0; i--) {
		const struct directory *d = &x->directories[i - 1];
		AUTO(close) int parent = -1, fd = -1;
		const char *name;
		int r = open_parent(x, d->path, false, &parent, &name);

		if (parent < 0)
			return r;
		r = step(parent, name, false, &fd);
		if (r == 0)
			r = dress(fd, d->mode, d->uid, d->gid);
		if (r == 0 && fsync(fd) < 0)
			r = -errno;
		if (r < 0)
			return fail(x, r, d->path);
	}
	if (rename(x->root, x->path) < 0)
		return problem_set_errno(x->problem, -errno, "cannot rename '%s' to '%s'", x->root,
		                         x->path);
	x->finished = true;
	return 0;
}
