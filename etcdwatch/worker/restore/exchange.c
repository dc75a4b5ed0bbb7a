/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of the renames. What was made gets the name `aside` first; then it and the old one
 * change places in one step (renameat2(2), RENAME_EXCHANGE). So no name ever stands for a half, and
 * what a process that died in between leaves is two whole directories, the old one in its place.
 * File systems that cannot exchange (NFS) need two steps, and between them there is none in its
 * place; the old one is under its new name then.
 */
#include "etcdwatch/worker/restore/exchange.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "bolt/bolt.h"
#include "etcdwatch/worker/common/file.h"

#define TREE_FDS 16
#define SNAPSHOT_NAME "snapshot.db"

struct exchange {
	const struct datadir *dir;
	char *work;
	char *snapshot;
	char *made; /* what the tool makes */
	char *unit; /* what of that is put in place: made, or made/member */
	int fd;     /* of the work directory, locked */
};

/* --- the work directory --- */

/* Another process may have removed it before the lock was ours. */
static bool is_still_there(const struct exchange *x)
{
	struct stat ours, there;

	return fstat(x->fd, &ours) == 0 && lstat(x->work, &there) == 0 && ours.st_dev == there.st_dev &&
	       ours.st_ino == there.st_ino;
}

static int take(struct exchange *x, struct problem *problem)
{
	if (mkdir(x->work, 0700) < 0 && errno != EEXIST)
		return problem_set_errno(problem, -errno, "cannot make '%s'", x->work);
	x->fd = open(x->work, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (x->fd < 0)
		return problem_set_errno(problem, -errno, "cannot open '%s'", x->work);
	if (flock(x->fd, LOCK_EX | LOCK_NB) == 0 && is_still_there(x))
		return 0;
	return problem_set(problem, -EBUSY, "BUSY", "another restore is at work in '%s'", x->work);
}

int exchange_open(const struct datadir *dir, struct problem *problem, struct exchange **ret)
{
	AUTO(exchange_close) struct exchange *x = NEW0(struct exchange);
	int r;

	x->dir = dir;
	x->fd = -1;
	x->work = xasprintf("%s.restoring", dir->unit);
	x->snapshot = xasprintf("%s/" SNAPSHOT_NAME, x->work);
	x->made = xasprintf("%s/new", x->work);
	x->unit = xasprintf("%s%s", x->made, dir->is_mount ? "/member" : "");
	r = take(x, problem);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(x);
	return 0;
}

void exchange_close(struct exchange *x)
{
	if (x == NULL)
		return;
	if (x->fd >= 0)
		(void) close(x->fd);
	free(x->work);
	free(x->snapshot);
	free(x->made);
	free(x->unit);
	free(x);
}

const char *exchange_snapshot_path(const struct exchange *x)
{
	return x->snapshot;
}

const char *exchange_work_path(const struct exchange *x)
{
	return x->work;
}

const char *exchange_new_path(const struct exchange *x)
{
	return x->made;
}

/* --- trees --- */

static int remove_tree(const char *path, struct problem *problem)
{
	int r = file_remove_tree(path);

	return r < 0 ? problem_set_errno(problem, r, "cannot remove '%s'", path) : 0;
}

int exchange_clear(struct exchange *x, bool keep_snapshot, struct problem *problem)
{
	DIR *stream = opendir(x->work);
	const struct dirent *entry;
	int r = 0;

	if (stream == NULL)
		return problem_set_errno(problem, -errno, "cannot look into '%s'", x->work);
	while (r == 0) {
		AUTO(free) char *path = NULL;

		entry = readdir(stream);
		if (entry == NULL)
			break;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    (keep_snapshot && strcmp(entry->d_name, SNAPSHOT_NAME) == 0))
			continue;
		path = xasprintf("%s/%s", x->work, entry->d_name);
		r = remove_tree(path, problem);
	}
	(void) closedir(stream);
	return r;
}

int exchange_remove(struct exchange *x, struct problem *problem)
{
	return remove_tree(x->work, problem);
}

/* nftw(3) has no argument for these. */
static struct {
	uid_t uid;
	gid_t gid;
} owner;

static int own_one(const char *path, const struct stat *st, int type UNUSED, struct FTW *ftw UNUSED)
{
	if (st->st_uid == owner.uid && st->st_gid == owner.gid)
		return 0;
	return lchown(path, owner.uid, owner.gid) < 0 ? -errno : 0;
}

static int own_tree(struct exchange *x, struct problem *problem)
{
	int r;

	owner.uid = x->dir->uid;
	owner.gid = x->dir->gid;
	r = nftw(x->unit, own_one, TREE_FDS, FTW_PHYS);
	if (r == -1)
		r = -errno;
	if (r < 0)
		return problem_set_errno(problem, r, "cannot give '%s' to the owner of '%s'", x->unit,
		                         x->dir->unit);
	if (chmod(x->unit, x->dir->mode) < 0)
		return problem_set_errno(problem, -errno, "cannot set the mode of '%s'", x->unit);
	return 0;
}

/* --- the exchange --- */

static int move(const char *from, const char *to, unsigned flags, struct problem *problem)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, flags) == 0)
		return 0;
	return problem_set_errno(problem, -errno, "cannot rename '%s' to '%s'", from, to);
}

/* The old one was set aside; should the new one not get its place, it comes back. */
static int exchange_in_two(struct exchange *x, const char *aside, struct problem *problem)
{
	int r = move(aside, x->unit, RENAME_NOREPLACE, problem);

	if (r < 0) {
		(void) remove_tree(aside, problem);
		return r;
	}
	r = move(x->dir->unit, aside, RENAME_NOREPLACE, problem);
	if (r < 0)
		return r;
	r = move(x->unit, x->dir->unit, RENAME_NOREPLACE, problem);
	if (r < 0)
		(void) move(aside, x->dir->unit, RENAME_NOREPLACE, problem);
	return r;
}

static int put_in_place(struct exchange *x, const char *aside, struct problem *problem)
{
	int r;

	if (!x->dir->has_unit)
		return move(x->unit, x->dir->unit, RENAME_NOREPLACE, problem);
	r = move(x->unit, aside, RENAME_NOREPLACE, problem);
	if (r < 0)
		return r;
	if (renameat2(AT_FDCWD, aside, AT_FDCWD, x->dir->unit, RENAME_EXCHANGE) == 0)
		return 0;
	if (errno == EINVAL || errno == ENOSYS)
		return exchange_in_two(x, aside, problem);
	r = problem_set_errno(problem, -errno, "cannot put '%s' in the place of '%s'", aside,
	                      x->dir->unit);
	(void) move(aside, x->unit, RENAME_NOREPLACE, problem);
	return r;
}

/* The way back: from both in place to as it was. */
static void put_back(struct exchange *x, const char *aside, struct problem *problem)
{
	if (!x->dir->has_unit) {
		(void) move(x->dir->unit, x->unit, RENAME_NOREPLACE, problem);
		return;
	}
	if (renameat2(AT_FDCWD, aside, AT_FDCWD, x->dir->unit, RENAME_EXCHANGE) == 0) {
		(void) move(aside, x->unit, RENAME_NOREPLACE, problem);
		return;
	}
	if (move(x->dir->unit, x->unit, RENAME_NOREPLACE, problem) == 0)
		(void) move(aside, x->dir->unit, RENAME_NOREPLACE, problem);
}

/* Whoever opened the old database before the exchange has it locked now, and writes to it. */
static int check_unused(struct exchange *x, const char *aside, struct problem *problem)
{
	AUTO(free) char *db = xasprintf("%s%s/snap/db", aside, x->dir->is_mount ? "" : "/member");

	if (!x->dir->has_unit || bolt_is_locked(db) <= 0)
		return 0;
	return problem_set(problem, -EBUSY, "IN_USE", "etcd was started on '%s' meanwhile",
	                   x->dir->path);
}

int exchange_seal(struct exchange *x, struct problem *problem, uint64_t *ret_inode)
{
	struct stat st;
	int r = own_tree(x, problem);

	if (r < 0)
		return r;
	/* All of it: files and directories of a tree that another program wrote. */
	if (syncfs(x->fd) < 0)
		return problem_set_errno(problem, -errno, "cannot sync '%s'", x->work);
	if (stat(x->unit, &st) < 0)
		return problem_set_errno(problem, -errno, "cannot look at '%s'", x->unit);
	*ret_inode = st.st_ino;
	return 0;
}

static int sync_parent(struct exchange *x, struct problem *problem)
{
	int r = file_sync_directory_of(x->dir->unit);

	return r < 0 ? problem_set_errno(problem, r, "cannot sync the directory of '%s'", x->dir->unit)
	             : 0;
}

int exchange_commit(struct exchange *x, const char *aside, struct problem *problem)
{
	int r = put_in_place(x, aside, problem);

	if (r < 0)
		return r;
	r = check_unused(x, aside, problem);
	if (r == 0)
		r = sync_parent(x, problem);
	if (r < 0)
		put_back(x, aside, problem);
	return r;
}

/* --- after an interruption --- */

/* 0: there is nothing. */
static uint64_t inode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 ? st.st_ino : 0;
}

int exchange_put(struct exchange *x, uint64_t inode, const char *aside, struct problem *problem)
{
	int r = 0;

	if (inode_of(x->dir->unit) == inode)
		return sync_parent(x, problem);
	/* Killed between the two renames of put_in_place(). */
	if (inode_of(aside) == inode)
		r = move(aside, x->unit, RENAME_NOREPLACE, problem);
	if (r == 0 && inode_of(x->unit) != inode)
		r = problem_set(problem, -ENOENT, "NOT_FOUND",
		                "the prepared data directory '%s' is no longer there", x->unit);
	return r < 0 ? r : exchange_commit(x, aside, problem);
}

static int refuse_back(struct exchange *x, const char *aside, struct problem *problem)
{
	return problem_set(
	    problem, -ENOENT, "NOT_FOUND",
	    "the old data directory is neither at '%s' nor at '%s': mount or move it there, "
	    "then go back again",
	    x->dir->unit, aside);
}

int exchange_back(struct exchange *x, uint64_t inode, uint64_t old, const char *aside,
                  struct problem *problem)
{
	int r = 0;

	/* Before any move, as what is at the unit may be the only data there is. */
	if (inode_of(x->dir->unit) != old &&
	    (old != 0 ? inode_of(aside) != old : inode_of(x->dir->unit) != inode))
		return refuse_back(x, aside, problem);
	if (inode_of(x->dir->unit) == inode && old != 0 &&
	    renameat2(AT_FDCWD, aside, AT_FDCWD, x->dir->unit, RENAME_EXCHANGE) < 0 &&
	    errno != EINVAL && errno != ENOSYS)
		r = problem_set_errno(problem, -errno, "cannot put '%s' in the place of '%s'", aside,
		                      x->dir->unit);
	if (r == 0 && inode_of(x->dir->unit) == inode)
		r = move(x->dir->unit, x->unit, RENAME_NOREPLACE, problem);
	if (r == 0 && inode_of(aside) == inode)
		r = move(aside, x->unit, RENAME_NOREPLACE, problem);
	if (r == 0 && old != 0 && inode_of(aside) == old)
		r = move(aside, x->dir->unit, RENAME_NOREPLACE, problem);
	if (r == 0 && inode_of(x->dir->unit) != old)
		r = refuse_back(x, aside, problem);
	return r < 0 ? r : sync_parent(x, problem);
}
