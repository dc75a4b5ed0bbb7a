/* SPDX-License-Identifier: Apache-2.0 */
/* Looks and changes nothing. */
#include "etcdwatch/worker/source/datadir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/civil.h"
#include "base/mem.h"
#include "bolt/bolt.h"
#include "etcdwatch/worker/common/file.h"

#define DB_IN_DIR "member/snap/db"

void datadir_free(struct datadir *dir)
{
	if (dir == NULL)
		return;
	free(dir->path);
	free(dir->unit);
	free(dir->db);
	free(dir->inner);
	free(dir->set_aside);
	free(dir);
}

char *datadir_aside_name(const struct datadir *dir, int64_t now_s)
{
	char time[CIVIL_TEXT_MAX];
	char *name = xasprintf("%s" DATADIR_ASIDE "%s", dir->unit, civil_format_basic(now_s, time));

	for (unsigned i = 2; access(name, F_OK) == 0; i++) {
		free(name);
		name = xasprintf("%s" DATADIR_ASIDE "%s-%u", dir->unit, time, i);
	}
	return name;
}

/* --- paths --- */

static bool is_directory(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* What is in front of the last name; to be freed. */
static char *parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == path ? xstrdup("/") : xstrndup(path, (size_t) (slash - path));
}

/* The path without links; of one that is not there, its parent's with its name. */
static int resolve(const char *path, struct problem *problem, char **ret_path)
{
	AUTO(free) char *real = realpath(path, NULL);
	AUTO(free) char *absolute = NULL, *parent = NULL, *real_parent = NULL;
	size_t len;

	if (real == NULL && errno != ENOENT)
		return problem_set_errno(problem, -errno, "cannot look at '%s'", path);
	if (real == NULL) {
		absolute = path[0] == '/' ? xstrdup(path) : xasprintf("./%s", path);
		for (len = strlen(absolute); len > 1 && absolute[len - 1] == '/'; len--)
			absolute[len - 1] = '\0';
		parent = parent_of(absolute);
		real_parent = realpath(parent, NULL);
		if (real_parent == NULL)
			return problem_set_errno(problem, -errno, "cannot make '%s': cannot look at '%s'", path,
			                         parent);
		real = xasprintf("%s%s", strcmp(real_parent, "/") == 0 ? "" : real_parent,
		                 strrchr(absolute, '/'));
	}
	if (strcmp(real, "/") == 0)
		return problem_set(problem, -EINVAL, "USAGE", "'%s' is no place for a data directory",
		                   path);
	*ret_path = TAKE_PTR(real);
	return 0;
}

/* --- what is there --- */

static int look_at_path(struct datadir *dir, struct problem *problem)
{
	struct statx stx;

	if (statx(AT_FDCWD, dir->path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &stx) < 0)
		return errno == ENOENT ? 0 : problem_set_errno(problem, -errno, "'%s'", dir->path);
	if (!S_ISDIR(stx.stx_mode))
		return problem_set(problem, -ENOTDIR, "NOT_FOUND", "'%s' is no directory", dir->path);
	dir->exists = true;
	dir->is_mount = (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
	return 0;
}

/* Owner and mode: of what is there, or of where it will be. */
static int look_at_unit(struct datadir *dir, struct problem *problem)
{
	AUTO(free) char *parent = parent_of(dir->unit);
	struct stat st;

	dir->has_unit = is_directory(dir->unit);
	if (stat(dir->has_unit ? dir->unit : parent, &st) < 0)
		return problem_set_errno(problem, -errno, "'%s'", dir->unit);
	/* Only root gives files away. */
	dir->uid = dir->has_unit || geteuid() == 0 ? st.st_uid : geteuid();
	dir->gid = dir->has_unit || geteuid() == 0 ? st.st_gid : getegid();
	dir->mode = dir->has_unit ? st.st_mode & 07777 : 0700;
	dir->inode = dir->has_unit ? st.st_ino : 0;
	return 0;
}

static int look_at_db(struct datadir *dir, struct problem *problem)
{
	AUTO(free) char *wal = xasprintf("%s/member/wal", dir->path);
	struct stat st;
	int r;

	dir->has_wal = is_directory(wal);
	if (stat(dir->db, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR
		           ? 0
		           : problem_set_errno(problem, -errno, "'%s'", dir->db);
	dir->has_db = true;
	dir->db_bytes = (uint64_t) st.st_size;
	r = bolt_is_locked(dir->db);
	if (r < 0)
		return problem_set_errno(problem, r, "cannot see whether etcd runs on '%s'", dir->db);
	dir->in_use = r > 0;
	return 0;
}

/* A directory of it that is one of etcd's: Debian's is /var/lib/etcd/default. */
static void look_inside(struct datadir *dir)
{
	DIR *stream = dir->has_db ? NULL : opendir(dir->path);
	const struct dirent *entry;

	while (stream != NULL && dir->inner == NULL) {
		AUTO(free) char *inner = NULL, *db = NULL;

		entry = readdir(stream);
		if (entry == NULL)
			break;
		inner = xasprintf("%s/%s", dir->path, entry->d_name);
		db = xasprintf("%s/" DB_IN_DIR, inner);
		if (entry->d_name[0] != '.' && strstr(entry->d_name, DATADIR_ASIDE) == NULL &&
		    access(db, F_OK) == 0)
			dir->inner = TAKE_PTR(inner);
	}
	if (stream != NULL)
		(void) closedir(stream);
}

static void look_beside(struct datadir *dir)
{
	AUTO(free) char *parent = parent_of(dir->unit);
	AUTO(free) char *begin = xasprintf("%s" DATADIR_ASIDE, strrchr(dir->unit, '/') + 1);
	AUTO(free) char *newest = NULL;
	DIR *stream = opendir(parent);
	const struct dirent *entry;

	while (stream != NULL) {
		entry = readdir(stream);
		if (entry == NULL)
			break;
		if (strncmp(entry->d_name, begin, strlen(begin)) != 0 ||
		    (newest != NULL && strcmp(entry->d_name, newest) <= 0))
			continue;
		free(newest);
		newest = xstrdup(entry->d_name);
	}
	if (stream != NULL)
		(void) closedir(stream);
	if (newest != NULL)
		dir->set_aside = xasprintf("%s/%s", parent, newest);
}

static int look_at_disk(struct datadir *dir, struct problem *problem)
{
	AUTO(free) char *parent = parent_of(dir->unit);
	int r = room_common_bytes(parent, &dir->free_bytes);

	return r < 0 ? problem_set_errno(problem, r, "cannot see how much is free in '%s'", parent) : 0;
}

int datadir_look(const char *path, struct problem *problem, struct datadir **ret_dir)
{
	AUTO(datadir_free) struct datadir *dir = NEW0(struct datadir);
	int r = resolve(path, problem, &dir->path);

	if (r == 0)
		r = look_at_path(dir, problem);
	if (r < 0)
		return r;
	dir->unit = xasprintf("%s%s", dir->path, dir->is_mount ? "/member" : "");
	dir->db = xasprintf("%s/" DB_IN_DIR, dir->path);
	r = look_at_unit(dir, problem);
	if (r == 0)
		r = look_at_db(dir, problem);
	if (r == 0)
		r = look_at_disk(dir, problem);
	if (r < 0)
		return r;
	look_inside(dir);
	look_beside(dir);
	*ret_dir = TAKE_PTR(dir);
	return 0;
}
