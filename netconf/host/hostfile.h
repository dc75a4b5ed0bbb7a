/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One name in the file system and all that is there: read, compared, put back byte by byte. For the
 * few small files of /etc that netconf writes for other programs. Blocking, and durable: files and
 * directories are synced.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define HOSTFILE_BYTES_MAX (1u << 20)

enum hostfile_kind {
	HOSTFILE_ABSENT,
	HOSTFILE_REGULAR,
	HOSTFILE_LINK, /* symbolic */
	HOSTFILE_DIRECTORY,
	HOSTFILE_OTHER, /* a device, a socket: never touched */
};

struct hostfile {
	enum hostfile_kind kind;
	mode_t mode; /* regular and directory: the permissions */
	uid_t uid;
	gid_t gid;
	char *data; /* regular: what is in it; link: its target; else NULL. With a NUL behind. */
	size_t len;
};

/* What `path` is; an absent one is no error. -EFBIG: it is larger than HOSTFILE_BYTES_MAX. */
int hostfile_read(const char *path, struct hostfile *ret_file);
void hostfile_fini(struct hostfile *file);
void hostfile_copy(const struct hostfile *file, struct hostfile *ret_copy);
bool hostfile_equal(const struct hostfile *a, const struct hostfile *b);

/* A regular file of root with this text, which it takes. */
struct hostfile hostfile_of_text(char *text);

/*
 * Makes `path` be `to`. What is replaced is replaced in one step, so that a reader sees the old or
 * the new. -ESTALE, and nothing is changed, unless it is still `from`; a directory that is to go
 * and is not empty stays. 0 or -errno.
 */
int hostfile_replace(const char *path, const struct hostfile *from, const struct hostfile *to);

/* {"kind": "regular", "mode": 420, "uid": 0, "gid": 0, "data": base64}, a new reference; and back,
 * or -EBADMSG. */
json_t *hostfile_to_json(const struct hostfile *file);
int hostfile_from_json(const json_t *json, struct hostfile *ret_file);
