/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks what is to be bundled and writes it as it goes; the manifest is gathered meanwhile. Inside
 * of a directory nothing is followed, and each file is looked at and read through one descriptor.
 */
#include "etcdwatch/worker/pack/bundle.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/pack/tarfmt.h"

#define BUFFER_BYTES (256 * 1024)

struct bundle {
	struct sink *next;
	struct problem *problem;
	json_t *snapshot;
	json_t *extra;
	unsigned n_files;
	uint64_t extra_bytes;
	char *buffer;
};

struct bundle *bundle_new(struct sink *next, struct problem *problem)
{
	struct bundle *b = NEW0(struct bundle);

	b->next = next;
	b->problem = problem;
	b->extra = json_array();
	b->buffer = xcalloc(1, BUFFER_BYTES);
	return b;
}

void bundle_free(struct bundle *b)
{
	if (b == NULL)
		return;
	sink_free(b->next);
	json_decref(b->snapshot);
	json_decref(b->extra);
	free(b->buffer);
	free(b);
}

json_t *bundle_describe(const char *name, char type, uint64_t n_bytes, const char *sha256,
                        const char *link)
{
	if (type == TAR_SYMLINK)
		return json_pack("{s:s, s:s, s:s}", "path", name, "type", "link", "link", link);
	if (type == TAR_DIRECTORY)
		return json_pack("{s:s, s:s}", "path", name, "type", "directory");
	return json_pack("{s:s, s:s, s:I, s:s}", "path", name, "type", "file", "bytes",
	                 (json_int_t) n_bytes, "sha256", sha256);
}

/* --- entries --- */

static int put_header(struct bundle *b, const struct tar_entry *entry)
{
	AUTO(free) uint8_t *blocks = NULL;
	size_t len;

	blocks = tar_format(entry, &len);
	return sink_write(b->next, blocks, len);
}

static int put_zeros(struct bundle *b, size_t len)
{
	static const uint8_t zeros[2 * TAR_BLOCK_BYTES];

	return sink_write(b->next, zeros, len);
}

/* Header, data, padding. */
static int put_file(struct bundle *b, int fd, const struct tar_entry *entry, const char *path,
                    struct tap_result *ret_result)
{
	AUTO(digest_free) struct digest *digest = digest_new(DIGEST_SHA256);
	uint64_t left = entry->n_bytes;
	struct pace pace;
	int r = put_header(b, entry);

	pace_begin(&pace, "read", entry->n_bytes);
	while (r == 0 && left > 0) {
		ssize_t n;

		if (cancel_is_wanted())
			return problem_set(b->problem, -ECANCELED, "CANCELLED", "cancelled");
		n = read(fd, b->buffer, (size_t) MIN(left, (uint64_t) BUFFER_BYTES));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return problem_set_errno(b->problem, -errno, "cannot read '%s'", path);
		if (n == 0)
			return problem_set(b->problem, -ENODATA, "CHANGED",
			                   "'%s' became shorter while it was read", path);
		digest_update(digest, b->buffer, (size_t) n);
		left -= (uint64_t) n;
		r = sink_write(b->next, b->buffer, (size_t) n);
		pace_tell(&pace, entry->n_bytes - left);
	}
	if (r < 0)
		return r;
	ret_result->n_bytes = entry->n_bytes;
	(void) digest_finish_hex(digest, ret_result->sha256);
	return put_zeros(b, tar_padding(entry->n_bytes));
}

int bundle_add_snapshot(struct bundle *b, int fd, const char *path, const char *name,
                        uint64_t n_bytes, struct tap_result *ret_snapshot)
{
	struct tar_entry entry = {.type = TAR_FILE, .mode = 0600, .n_bytes = n_bytes};
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return problem_set_errno(b->problem, -errno, "cannot read '%s'", path);
	entry.mtime_s = st.st_mtim.tv_sec;
	(void) snprintf(entry.path, sizeof(entry.path), "%s", name);
	r = put_file(b, fd, &entry, path, ret_snapshot);
	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0 || (uint64_t) st.st_size != n_bytes)
		return problem_set(b->problem, -EFBIG, "CHANGED", "'%s' became longer while it was read",
		                   path);
	b->snapshot = bundle_describe(name, TAR_FILE, n_bytes, ret_snapshot->sha256, NULL);
	if (b->snapshot == NULL)
		return problem_set(b->problem, -EILSEQ, "USAGE", "'%s' is not UTF-8", name);
	return 0;
}

/* --- trees --- */

/* One thing of the tree: `path` is where it is on this machine. */
struct thing {
	const char *path;
	int parent;       /* directory; AT_FDCWD for what was named */
	const char *name; /* in it */
	unsigned depth;
};

static int note(struct bundle *b, const struct thing *thing, const struct tar_entry *entry,
                const char *sha256)
{
	json_t *object =
	    bundle_describe(thing->path, (char) entry->type, entry->n_bytes, sha256, entry->link);

	if (object == NULL)
		return problem_set(b->problem, -EILSEQ, "EXTRA", "'%s' is not UTF-8", thing->path);
	(void) json_array_append_new(b->extra, object);
	return 0;
}

static int begin_entry(struct bundle *b, const struct thing *thing, const struct stat *st,
                       enum tar_type type, struct tar_entry *entry)
{
	int len = snprintf(entry->path, sizeof(entry->path), "%s%s%s", BUNDLE_EXTRA_DIR,
	                   thing->path[0] == '/' ? "" : "/", thing->path);

	if (len >= (int) sizeof(entry->path))
		return problem_set(b->problem, -ENAMETOOLONG, "EXTRA", "the path is too long: '%s'",
		                   thing->path);
	if (++b->n_files > BUNDLE_FILES_MAX)
		return problem_set(b->problem, -E2BIG, "EXTRA", "more than %u files to be bundled, at '%s'",
		                   BUNDLE_FILES_MAX, thing->path);
	entry->type = type;
	entry->link[0] = '\0';
	entry->mode = st->st_mode & 07777;
	entry->uid = st->st_uid;
	entry->gid = st->st_gid;
	entry->mtime_s = st->st_mtim.tv_sec;
	entry->n_bytes = type == TAR_FILE ? (uint64_t) st->st_size : 0;
	b->extra_bytes += entry->n_bytes;
	if (b->extra_bytes > BUNDLE_EXTRA_BYTES_MAX)
		return problem_set(b->problem, -E2BIG, "EXTRA", "more than %llu MiB to be bundled, at '%s'",
		                   (unsigned long long) (BUNDLE_EXTRA_BYTES_MAX >> 20), thing->path);
	return 0;
}

static int add_link(struct bundle *b, const struct thing *thing, const struct stat *st)
{
	AUTO(free) struct tar_entry *entry = NEW0(struct tar_entry);
	ssize_t len;
	int r = begin_entry(b, thing, st, TAR_SYMLINK, entry);

	if (r < 0)
		return r;
	len = readlinkat(thing->parent, thing->name, entry->link, sizeof(entry->link));
	if (len < 0)
		return problem_set(b->problem, -errno, "EXTRA", "cannot read the link '%s': %s",
		                   thing->path, strerror(errno));
	if (len >= (ssize_t) sizeof(entry->link))
		return problem_set(b->problem, -ENAMETOOLONG, "EXTRA", "the link '%s' is too long",
		                   thing->path);
	entry->link[len] = '\0';
	r = put_header(b, entry);
	return r < 0 ? r : note(b, thing, entry, NULL);
}

static int add_file(struct bundle *b, const struct thing *thing, int fd, const struct stat *st)
{
	AUTO(free) struct tar_entry *entry = NEW0(struct tar_entry);
	struct tap_result result;
	int r = begin_entry(b, thing, st, TAR_FILE, entry);

	if (r == 0)
		r = put_file(b, fd, entry, thing->path, &result);
	return r < 0 ? r : note(b, thing, entry, result.sha256);
}

static int add_thing(struct bundle *b, const struct thing *thing);

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int add_children(struct bundle *b, const struct thing *thing, int fd)
{
	struct dirent **names = NULL;
	int n = scandirat(fd, ".", &names, NULL, by_name), r = 0;

	if (n < 0)
		return problem_set(b->problem, -errno, "EXTRA", "cannot list '%s': %s", thing->path,
		                   strerror(errno));
	for (int i = 0; i < n; i++) {
		const char *name = names[i]->d_name;

		if (r == 0 && strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
			AUTO(free) char *path = xasprintf("%s/%s", thing->path, name);
			const struct thing child = {path, fd, name, thing->depth + 1};

			r = add_thing(b, &child);
		}
		free(names[i]);
	}
	free(names);
	return r;
}

static int add_directory(struct bundle *b, const struct thing *thing, int fd, const struct stat *st)
{
	AUTO(free) struct tar_entry *entry = NEW0(struct tar_entry);
	int r;

	if (thing->depth >= BUNDLE_DEPTH_MAX)
		return problem_set(b->problem, -ELOOP, "EXTRA", "too many directories in each other: '%s'",
		                   thing->path);
	r = begin_entry(b, thing, st, TAR_DIRECTORY, entry);
	if (r == 0)
		r = put_header(b, entry);
	if (r == 0)
		r = note(b, thing, entry, NULL);
	return r < 0 ? r : add_children(b, thing, fd);
}

static int add_thing(struct bundle *b, const struct thing *thing)
{
	bool named = thing->parent == AT_FDCWD;
	AUTO(close) int fd = -1;
	struct stat st;

	fd = openat(thing->parent, thing->name,
	            O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (named ? 0 : O_NOFOLLOW));
	if (fd < 0 && errno == ELOOP && !named) {
		if (fstatat(thing->parent, thing->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return add_link(b, thing, &st);
	}
	/* A socket cannot be opened. */
	if ((fd < 0 && errno != ENXIO) || (fd >= 0 && fstat(fd, &st) < 0))
		return problem_set(b->problem, -errno, "EXTRA", "cannot read '%s': %s", thing->path,
		                   strerror(errno));
	if (fd >= 0 && S_ISREG(st.st_mode))
		return add_file(b, thing, fd, &st);
	if (fd >= 0 && S_ISDIR(st.st_mode))
		return add_directory(b, thing, fd, &st);
	log_warning("bundle_left_out", "path=\"%s\" reason=\"neither a file nor a directory\"",
	            thing->path);
	return 0;
}

int bundle_add_extra(struct bundle *b, const char *path)
{
	AUTO(free) char *clean = xstrdup(path);
	struct thing thing = {clean, AT_FDCWD, clean, 0};
	size_t len = strlen(clean);

	while (len > 1 && clean[len - 1] == '/')
		clean[--len] = '\0';
	if (clean[0] != '/' || len == 1 || strstr(clean, "/../") != NULL || strstr(clean, "//") != NULL)
		return problem_set(b->problem, -EINVAL, "USAGE",
		                   "'%s' is not a whole path without '..' to a file or directory", path);
	return add_thing(b, &thing);
}

int bundle_finish(struct bundle *b)
{
	AUTO(free) char *text = NULL;
	struct tar_entry entry = {.type = TAR_FILE, .path = BUNDLE_MANIFEST, .mode = 0600};
	json_t *manifest = json_pack("{s:i, s:O, s:O}", "version", BUNDLE_VERSION, "snapshot",
	                             b->snapshot, "extra", b->extra);
	int r;

	text = json_dumps(manifest, JSON_INDENT(1));
	json_decref(manifest);
	if (text == NULL)
		return problem_set(b->problem, -ENOMEM, "SYSTEM", "the manifest cannot be written");
	entry.n_bytes = strlen(text);
	r = put_header(b, &entry);
	if (r == 0)
		r = sink_write(b->next, text, strlen(text));
	if (r == 0)
		r = put_zeros(b, tar_padding(entry.n_bytes));
	/* Two blocks of zeros end an archive. */
	if (r == 0)
		r = put_zeros(b, 2 * (size_t) TAR_BLOCK_BYTES);
	return r < 0 ? r : sink_finish(b->next);
}
