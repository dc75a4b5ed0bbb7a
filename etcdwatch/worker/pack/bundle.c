/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks what is to be bundled and writes it as it goes; the manifest is gathered meanwhile. Inside
 * of a directory nothing is followed, and each file is looked at and read through one descriptor.
 */
#include "etcdwatch/worker/pack/bundle.h"

#include <archive.h>
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

#define BUFFER_BYTES (256 * 1024)

DEFINE_AUTO(struct archive_entry, archive_entry_free);

struct bundle {
	struct sink *next;
	struct archive *archive;
	int error;       /* of `next` */
	bool is_dropped; /* the rest goes nowhere */
	struct problem *problem;
	json_t *snapshot;
	json_t *extra;
	unsigned n_files;
	uint64_t extra_bytes;
	char *buffer;
};

static ssize_t pass_on(struct archive *archive UNUSED, void *userdata, const void *data, size_t len)
{
	struct bundle *b = userdata;

	if (b->is_dropped)
		return (ssize_t) len;
	b->error = sink_write(b->next, data, len);
	return b->error < 0 ? -1 : (ssize_t) len;
}

struct bundle *bundle_new(struct sink *next, struct problem *problem)
{
	struct bundle *b = NEW0(struct bundle);

	b->next = next;
	b->problem = problem;
	b->extra = json_array();
	b->buffer = xcalloc(1, BUFFER_BYTES);
	b->archive = archive_write_new();
	(void) archive_write_set_format_pax_restricted(b->archive);
	/* No padding but the two blocks at the end. */
	(void) archive_write_set_bytes_per_block(b->archive, 0);
	(void) archive_write_open(b->archive, b, NULL, pass_on, NULL);
	return b;
}

void bundle_free(struct bundle *b)
{
	if (b == NULL)
		return;
	/* libarchive ends an archive that was not closed. archive_write_fail() would leak its output. */
	b->is_dropped = true;
	(void) archive_write_free(b->archive);
	sink_free(b->next);
	json_decref(b->snapshot);
	json_decref(b->extra);
	free(b->buffer);
	free(b);
}

json_t *bundle_describe(const char *name, struct archive_entry *entry, const char *sha256)
{
	if (archive_entry_filetype(entry) == AE_IFLNK)
		return json_pack("{s:s, s:s, s:s}", "path", name, "type", "link", "link",
		                 archive_entry_symlink(entry));
	if (archive_entry_filetype(entry) == AE_IFDIR)
		return json_pack("{s:s, s:s}", "path", name, "type", "directory");
	return json_pack("{s:s, s:s, s:I, s:s}", "path", name, "type", "file", "bytes",
	                 (json_int_t) archive_entry_size(entry), "sha256", sha256);
}

/* --- entries --- */

/* What libarchive returned. */
static int check(struct bundle *b, la_ssize_t returned)
{
	if (returned >= ARCHIVE_WARN)
		return 0;
	if (b->error < 0)
		return b->error;
	return problem_set(b->problem, -EIO, "SYSTEM", "cannot write the archive: %s",
	                   archive_error_string(b->archive));
}

static struct archive_entry *entry_new(const char *path, mode_t mode, uint64_t n_bytes,
                                       int64_t mtime_s)
{
	struct archive_entry *entry = archive_entry_new();

	archive_entry_copy_pathname(entry, path);
	archive_entry_set_mode(entry, mode);
	archive_entry_set_size(entry, (la_int64_t) n_bytes);
	archive_entry_set_mtime(entry, mtime_s, 0);
	return entry;
}

static int put_file(struct bundle *b, int fd, struct archive_entry *entry, const char *path,
                    struct tap_result *ret_result)
{
	AUTO(digest_free) struct digest *digest = digest_new(DIGEST_SHA256);
	uint64_t n_bytes = (uint64_t) archive_entry_size(entry), left = n_bytes;
	struct pace pace;
	int r = check(b, archive_write_header(b->archive, entry));

	pace_begin(&pace, "read", n_bytes);
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
		r = check(b, archive_write_data(b->archive, b->buffer, (size_t) n));
		pace_tell(&pace, n_bytes - left);
	}
	if (r < 0)
		return r;
	ret_result->n_bytes = n_bytes;
	(void) digest_finish_hex(digest, ret_result->sha256);
	return 0;
}

int bundle_add_snapshot(struct bundle *b, int fd, const char *path, const char *name,
                        uint64_t n_bytes, struct tap_result *ret_snapshot)
{
	AUTO(archive_entry_free) struct archive_entry *entry = NULL;
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return problem_set_errno(b->problem, -errno, "cannot read '%s'", path);
	entry = entry_new(name, S_IFREG | 0600, n_bytes, st.st_mtim.tv_sec);
	r = put_file(b, fd, entry, path, ret_snapshot);
	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0 || (uint64_t) st.st_size != n_bytes)
		return problem_set(b->problem, -EFBIG, "CHANGED", "'%s' became longer while it was read",
		                   path);
	b->snapshot = bundle_describe(name, entry, ret_snapshot->sha256);
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

static int note(struct bundle *b, const struct thing *thing, struct archive_entry *entry,
                const char *sha256)
{
	json_t *object = bundle_describe(thing->path, entry, sha256);

	if (object == NULL)
		return problem_set(b->problem, -EILSEQ, "EXTRA", "'%s' is not UTF-8", thing->path);
	(void) json_array_append_new(b->extra, object);
	return 0;
}

static int begin_entry(struct bundle *b, const struct thing *thing, const struct stat *st,
                       struct archive_entry **ret_entry)
{
	uint64_t n_bytes = S_ISREG(st->st_mode) ? (uint64_t) st->st_size : 0;
	char path[BUNDLE_PATH_MAX];
	int len = snprintf(path, sizeof(path), "%s%s%s", BUNDLE_EXTRA_DIR,
	                   thing->path[0] == '/' ? "" : "/", thing->path);

	if (len >= (int) sizeof(path))
		return problem_set(b->problem, -ENAMETOOLONG, "EXTRA", "the path is too long: '%s'",
		                   thing->path);
	if (++b->n_files > BUNDLE_FILES_MAX)
		return problem_set(b->problem, -E2BIG, "EXTRA", "more than %u files to be bundled, at '%s'",
		                   BUNDLE_FILES_MAX, thing->path);
	b->extra_bytes += n_bytes;
	if (b->extra_bytes > BUNDLE_EXTRA_BYTES_MAX)
		return problem_set(b->problem, -E2BIG, "EXTRA", "more than %llu MiB to be bundled, at '%s'",
		                   (unsigned long long) (BUNDLE_EXTRA_BYTES_MAX >> 20), thing->path);
	*ret_entry = entry_new(path, st->st_mode, n_bytes, st->st_mtim.tv_sec);
	archive_entry_set_uid(*ret_entry, st->st_uid);
	archive_entry_set_gid(*ret_entry, st->st_gid);
	return 0;
}

static int add_link(struct bundle *b, const struct thing *thing, const struct stat *st)
{
	AUTO(archive_entry_free) struct archive_entry *entry = NULL;
	char link[BUNDLE_PATH_MAX];
	ssize_t len;
	int r = begin_entry(b, thing, st, &entry);

	if (r < 0)
		return r;
	len = readlinkat(thing->parent, thing->name, link, sizeof(link));
	if (len < 0)
		return problem_set(b->problem, -errno, "EXTRA", "cannot read the link '%s': %s",
		                   thing->path, strerror(errno));
	if (len >= (ssize_t) sizeof(link))
		return problem_set(b->problem, -ENAMETOOLONG, "EXTRA", "the link '%s' is too long",
		                   thing->path);
	link[len] = '\0';
	archive_entry_copy_symlink(entry, link);
	r = check(b, archive_write_header(b->archive, entry));
	return r < 0 ? r : note(b, thing, entry, NULL);
}

static int add_file(struct bundle *b, const struct thing *thing, int fd, const struct stat *st)
{
	AUTO(archive_entry_free) struct archive_entry *entry = NULL;
	struct tap_result result;
	int r = begin_entry(b, thing, st, &entry);

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
	AUTO(archive_entry_free) struct archive_entry *entry = NULL;
	int r;

	if (thing->depth >= BUNDLE_DEPTH_MAX)
		return problem_set(b->problem, -ELOOP, "EXTRA", "too many directories in each other: '%s'",
		                   thing->path);
	r = begin_entry(b, thing, st, &entry);
	if (r == 0)
		r = check(b, archive_write_header(b->archive, entry));
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
	AUTO(archive_entry_free) struct archive_entry *entry = NULL;
	AUTO(free) char *text = NULL;
	json_t *manifest = json_pack("{s:i, s:O, s:O}", "version", BUNDLE_VERSION, "snapshot",
	                             b->snapshot, "extra", b->extra);
	int r;

	text = json_dumps(manifest, JSON_INDENT(1));
	json_decref(manifest);
	if (text == NULL)
		return problem_set(b->problem, -ENOMEM, "SYSTEM", "the manifest cannot be written");
	entry = entry_new(BUNDLE_MANIFEST, S_IFREG | 0600, strlen(text), 0);
	r = check(b, archive_write_header(b->archive, entry));
	if (r == 0)
		r = check(b, archive_write_data(b->archive, text, strlen(text)));
	if (r == 0)
		r = check(b, archive_write_close(b->archive));
	return r < 0 ? r : sink_finish(b->next);
}
