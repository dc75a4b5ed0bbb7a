/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small files as values. Everything that is put somewhere is made beside it under another name and
 * renamed: contents by lib/base/fileio, symbolic links here.
 */
#include "netconf/host/hostfile.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"

#define PERMISSIONS 07777
#define LINK_BYTES_MAX 4096

static const char *const kind_names[] = {
    [HOSTFILE_ABSENT] = "absent",       [HOSTFILE_REGULAR] = "regular", [HOSTFILE_LINK] = "link",
    [HOSTFILE_DIRECTORY] = "directory", [HOSTFILE_OTHER] = "other",
};

/* --- reading --- */

static int read_link(const char *path, struct hostfile *file)
{
	char target[LINK_BYTES_MAX];
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	file->kind = HOSTFILE_LINK;
	file->data = xstrndup(target, (size_t) n);
	file->len = (size_t) n;
	return 0;
}

int hostfile_read(const char *path, struct hostfile *ret_file)
{
	struct hostfile file = {.kind = HOSTFILE_OTHER};
	struct stat st;
	int r = lstat(path, &st) < 0 ? -errno : 0;

	/* Nor is there anything below what is not a directory. */
	if (r == -ENOENT || r == -ENOTDIR) {
		*ret_file = (struct hostfile){.kind = HOSTFILE_ABSENT};
		return 0;
	}
	if (r != 0)
		return r;
	file.uid = st.st_uid;
	file.gid = st.st_gid;
	if (S_ISLNK(st.st_mode)) {
		r = read_link(path, &file);
	} else if (S_ISDIR(st.st_mode)) {
		file.kind = HOSTFILE_DIRECTORY;
		file.mode = st.st_mode & PERMISSIONS;
	} else if (S_ISREG(st.st_mode)) {
		file.kind = HOSTFILE_REGULAR;
		file.mode = st.st_mode & PERMISSIONS;
		r = file_read(path, HOSTFILE_BYTES_MAX, &file.data, &file.len);
	}
	if (r != 0)
		return r;
	*ret_file = file;
	return 0;
}

void hostfile_fini(struct hostfile *file)
{
	free(file->data);
	*file = (struct hostfile){.kind = HOSTFILE_ABSENT};
}

static char *copy_data(const char *data, size_t len)
{
	char *copy = xcalloc(len + 1, 1);

	memcpy(copy, data, len);
	return copy;
}

void hostfile_copy(const struct hostfile *file, struct hostfile *ret_copy)
{
	*ret_copy = *file;
	if (file->data != NULL)
		ret_copy->data = copy_data(file->data, file->len);
}

bool hostfile_equal(const struct hostfile *a, const struct hostfile *b)
{
	return a->kind == b->kind && a->mode == b->mode && a->uid == b->uid && a->gid == b->gid &&
	       a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

struct hostfile hostfile_of_text(char *text)
{
	return (struct hostfile){
	    .kind = HOSTFILE_REGULAR, .mode = 0644, .data = text, .len = strlen(text)};
}

/* --- writing --- */

static int sync_parent(const char *path)
{
	AUTO(free) char *copy = xstrdup(path);
	AUTO(close) int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

static int own(const char *path, const struct hostfile *file)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return -errno;
	if (st.st_uid == file->uid && st.st_gid == file->gid)
		return 0;
	if (lchown(path, file->uid, file->gid) < 0)
		return -errno;
	/* A change of owner takes some permissions away. */
	if (file->kind != HOSTFILE_LINK && chmod(path, file->mode) < 0)
		return -errno;
	return 0;
}

static int put_link(const char *path, const struct hostfile *to)
{
	AUTO(free) char *temporary = xasprintf("%s.new.%d", path, (int) getpid());
	int r;

	(void) unlink(temporary);
	if (symlink(to->data, temporary) < 0)
		return -errno;
	if (rename(temporary, path) == 0)
		return sync_parent(path);
	r = -errno;
	(void) unlink(temporary);
	return r;
}

static int put_directory(const char *path, const struct hostfile *to)
{
	if (mkdir(path, to->mode) < 0 && errno != EEXIST)
		return -errno;
	if (chmod(path, to->mode) < 0)
		return -errno;
	return sync_parent(path);
}

static int take_away(const char *path, const struct hostfile *from)
{
	if (from->kind == HOSTFILE_DIRECTORY) {
		if (rmdir(path) < 0)
			return errno == ENOTEMPTY || errno == EEXIST ? 0 : -errno;
	} else if (unlink(path) < 0) {
		return -errno;
	}
	return sync_parent(path);
}

static int put(const char *path, const struct hostfile *from, const struct hostfile *to)
{
	int r = -EINVAL;

	switch (to->kind) {
	case HOSTFILE_ABSENT:
		return from->kind == HOSTFILE_ABSENT ? 0 : take_away(path, from);
	case HOSTFILE_REGULAR:
		r = file_write_atomic(path, to->data, to->len, to->mode, FILE_DURABLE);
		break;
	case HOSTFILE_LINK:
		r = put_link(path, to);
		break;
	case HOSTFILE_DIRECTORY:
		r = put_directory(path, to);
		break;
	case HOSTFILE_OTHER:
		break;
	}
	return r < 0 ? r : own(path, to);
}

int hostfile_replace(const char *path, const struct hostfile *from, const struct hostfile *to)
{
	struct hostfile now;
	bool as_it_was;
	int r = hostfile_read(path, &now);

	if (r != 0)
		return r;
	as_it_was = hostfile_equal(&now, from);
	hostfile_fini(&now);
	return as_it_was ? put(path, from, to) : -ESTALE;
}

/* --- as JSON --- */

json_t *hostfile_to_json(const struct hostfile *file)
{
	AUTO(free) char *data = file->data != NULL ? base64_encode(file->data, file->len) : NULL;

	return json_pack("{s:s, s:i, s:I, s:I, s:s?}", "kind", kind_names[file->kind], "mode",
	                 (int) file->mode, "uid", (json_int_t) file->uid, "gid", (json_int_t) file->gid,
	                 "data", data);
}

static int find_kind(const char *name, enum hostfile_kind *ret_kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(kind_names); i++) {
		if (strcmp(kind_names[i], name) == 0) {
			*ret_kind = (enum hostfile_kind) i;
			return 0;
		}
	}
	return -EBADMSG;
}

int hostfile_from_json(const json_t *json, struct hostfile *ret_file)
{
	struct hostfile file = {0};
	const char *kind, *data = json_string_value(json_object_get(json, "data"));
	json_int_t uid, gid;
	int mode;

	if (json_unpack((json_t *) (uintptr_t) json, "{s:s, s:i, s:I, s:I}", "kind", &kind, "mode",
	                &mode, "uid", &uid, "gid", &gid) < 0 ||
	    find_kind(kind, &file.kind) < 0)
		return -EBADMSG;
	file.mode = (mode_t) mode & PERMISSIONS;
	file.uid = (uid_t) uid;
	file.gid = (gid_t) gid;
	if ((data != NULL) != (file.kind == HOSTFILE_REGULAR || file.kind == HOSTFILE_LINK))
		return -EBADMSG;
	if (data != NULL && base64_decode(data, &file.data, &file.len) < 0)
		return -EBADMSG;
	*ret_file = file;
	return 0;
}
