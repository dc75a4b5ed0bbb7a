/* SPDX-License-Identifier: Apache-2.0 */
/* A lock on the directory that holds it tells whether somebody is at work in there; the kernel
 * gives it back when that process ends. */
#include "etcdwatch/worker/drill/workroom.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"

#define OPEN_DIRECTORIES_MAX 16

struct workroom {
	char *base;
	char *path;
	int lock; /* of base */
	bool is_made;
};

/* --- removing --- */

static int remove_one(const char *path, const struct stat *st UNUSED, int type UNUSED,
                      struct FTW *ftw UNUSED)
{
	return remove(path);
}

/* Links are removed, not followed. */
static int remove_tree(const char *path)
{
	if (nftw(path, remove_one, OPEN_DIRECTORIES_MAX, FTW_DEPTH | FTW_PHYS) < 0 && errno != ENOENT)
		return -errno;
	return 0;
}

/* --- the directory that holds it --- */

static int lock_base(struct workroom *room, struct problem *problem)
{
	struct stat st;

	room->lock = open(room->base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (room->lock < 0 || fstat(room->lock, &st) < 0)
		return problem_set_errno(problem, -errno, "cannot open the directory '%s'", room->base);
	if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return problem_set(problem, -EPERM, "DIRECTORY",
		                   "others may write into '%s': what is restored there is secret; name "
		                   "another directory, or chmod go-w",
		                   room->base);
	if (flock(room->lock, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK
		           ? problem_set(problem, -EBUSY, "BUSY", "another drill is at work in '%s'",
		                         room->base)
		           : problem_set_errno(problem, -errno, "cannot lock '%s'", room->base);
	return 0;
}

static struct workroom *room_new(const char *base)
{
	struct workroom *room = NEW0(struct workroom);

	room->base = xstrdup(base);
	room->path = xasprintf("%s/" WORKROOM_NAME, base);
	room->lock = -1;
	return room;
}

static int clear(struct workroom *room, struct problem *problem)
{
	int r = remove_tree(room->path);

	return r < 0 ? problem_set_errno(problem, r, "cannot remove '%s', which an earlier drill left",
	                                 room->path)
	             : 0;
}

/* --- the whole --- */

int workroom_open(const char *base, struct problem *problem, struct workroom **ret_room)
{
	AUTO(workroom_free) struct workroom *room = room_new(base);
	int r;

	if (mkdir(base, 0700) < 0 && errno != EEXIST)
		return problem_set_errno(problem, -errno, "cannot make the directory '%s'", base);
	r = lock_base(room, problem);
	if (r == 0)
		r = clear(room, problem);
	if (r < 0)
		return r;
	if (mkdir(room->path, 0700) < 0)
		return problem_set_errno(problem, -errno, "cannot make the directory '%s'", room->path);
	room->is_made = true;
	*ret_room = TAKE_PTR(room);
	return 0;
}

void workroom_free(struct workroom *room)
{
	if (room == NULL)
		return;
	if (room->is_made)
		(void) remove_tree(room->path);
	/* While it is locked: nobody can have begun in there. */
	if (room->is_made)
		(void) rmdir(room->base);
	if (room->lock >= 0)
		(void) close(room->lock);
	free(room->base);
	free(room->path);
	free(room);
}

const char *workroom_path(const struct workroom *room)
{
	return room->path;
}

int workroom_clear(const char *base, struct problem *problem)
{
	AUTO(workroom_free) struct workroom *room = room_new(base);
	int r;

	if (access(room->path, F_OK) < 0 && errno == ENOENT)
		return 0;
	r = lock_base(room, problem);
	if (r == -EBUSY) {
		*problem = (struct problem){0};
		return 0;
	}
	if (r == 0)
		r = clear(room, problem);
	room->is_made = r == 0;
	return r;
}
