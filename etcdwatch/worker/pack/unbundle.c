/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libarchive asks for what it reads, and a stage is given it: so a thread reads the archive at the
 * other end of a socket, and all that is behind this stage runs in that thread until the stage is
 * finished. Every entry that it tells is looked at before it is believed.
 *
 * What passes is described in the same words as the manifest has; at the end both must be the same.
 * So a file that is missing, is one too many or was changed is found, whatever its place.
 */
#include "etcdwatch/worker/pack/unbundle.h"

#include <archive.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/worker/common/file.h"
#include "etcdwatch/worker/pack/bundle.h"
#include "web/digest.h"

/* --- extract --- */

/*
 * Each path is walked from our own directory, one component at a time, and never through a link;
 * nothing that is there is opened for writing. Directories can be written into until the end, and
 * only then get the permissions that they had.
 */

struct directory {
	char *path;
	struct archive_entry *entry;
};

struct extract {
	char *path;
	char *root; /* where it is until it is finished */
	bool finished;
	int holder; /* the directory that `root` is in */
	int root_fd;
	int fd;                        /* of the file that is being written, or -1 */
	char path_in[BUNDLE_PATH_MAX]; /* of the entry */
	struct archive_entry *entry;
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
	for (size_t i = 0; i < x->n_directories; i++) {
		free(x->directories[i].path);
		archive_entry_free(x->directories[i].entry);
	}
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
	x->directories[x->n_directories++] =
	    (struct directory){xstrdup(x->path_in), archive_entry_clone(x->entry)};
}

static int make(struct extract *x, int parent, const char *name)
{
	switch (archive_entry_filetype(x->entry)) {
	case AE_IFREG:
		x->fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		return x->fd < 0 ? -errno : 0;
	case AE_IFLNK:
		return symlinkat(archive_entry_symlink(x->entry), parent, name) < 0 ? -errno : 0;
	case AE_IFDIR:
		/* It may have been made for what is in it. */
		if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
			return -errno;
		remember(x);
		return 0;
	default:
		return -EBADMSG;
	}
}

/* One entry, at `path`, which is whole ("/etc/..."), its data, its end. */
static int extract_begin(struct extract *x, const char *path, struct archive_entry *entry)
{
	AUTO(close) int parent = -1;
	const char *name;
	int r;

	(void) snprintf(x->path_in, sizeof(x->path_in), "%s", path);
	x->entry = entry;
	r = open_parent(x, x->path_in, true, &parent, &name);
	if (r < 0)
		return r;
	r = make(x, parent, name);
	return r < 0 ? fail(x, r, x->path_in) : 0;
}

static int extract_data(struct extract *x, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = write(x->fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(x, -errno, x->path_in);
		p += n;
		len -= (size_t) n;
	}
	return 0;
}

/* The owner first: giving a file away takes the set-user-id bit from it. */
static int dress(int fd, struct archive_entry *entry)
{
	if (geteuid() == 0 &&
	    fchown(fd, (uid_t) archive_entry_uid(entry), (gid_t) archive_entry_gid(entry)) < 0)
		return -errno;
	return fchmod(fd, archive_entry_perm(entry)) < 0 || fsync(fd) < 0 ? -errno : 0;
}

static int extract_end(struct extract *x)
{
	int r;

	if (x->fd < 0)
		return 0;
	r = dress(x->fd, x->entry);
	if (close(TAKE_FD(x->fd)) < 0 && r == 0)
		r = -errno;
	return r < 0 ? fail(x, r, x->path_in) : 0;
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
			r = dress(fd, d->entry);
		if (r < 0)
			return fail(x, r, d->path);
	}
	if (rename(x->root, x->path) < 0)
		return problem_set_errno(x->problem, -errno, "cannot rename '%s' to '%s'", x->root,
		                         x->path);
	x->finished = true;
	return 0;
}

/* --- unbundle --- */

/* 10000 files with paths of 1024 bytes. */
#define MANIFEST_BYTES_MAX ((uint64_t) 16 << 20)

/* Of the headers of an entry. */
#define HEADERS_BYTES_MAX 10240
#define READ_BYTES (256 * 1024)

enum what {
	NOTHING, /* the snapshot comes first */
	SNAPSHOT,
	EXTRA,
	MANIFEST, /* nothing comes behind it */
};

struct unbundle {
	struct sink sink;
	struct sink *next;
	struct extract *extract;
	struct problem *problem;
	int ends[2]; /* ours, and the thread's */
	bool is_running;
	pthread_t thread;
	int error; /* of the thread */
	enum what now;
	struct digest *digest;
	json_t *snapshot;
	json_t *extra;
	unsigned n_files;
	char *manifest;
	size_t manifest_len;
};

static int corrupt(struct unbundle *u, const char *what)
{
	return problem_set(u->problem, -EBADMSG, "CORRUPT", "the bundle is damaged: %s", what);
}

/* --- entries --- */

/* The path that a file had, of the one in the archive. */
static const char *path_of(const struct unbundle *u, struct archive_entry *entry)
{
	const char *path = archive_entry_pathname(entry);

	return u->now == EXTRA ? path + strlen(BUNDLE_EXTRA_DIR) : path;
}

static int begin_manifest(struct unbundle *u, struct archive_entry *entry)
{
	if ((uint64_t) archive_entry_size(entry) > MANIFEST_BYTES_MAX)
		return corrupt(u, "its manifest is too long");
	u->manifest = xcalloc((size_t) archive_entry_size(entry) + 1, 1);
	return 0;
}

static int begin_entry(struct unbundle *u, struct archive_entry *entry)
{
	static const char dir[] = BUNDLE_EXTRA_DIR "/";
	const char *path = archive_entry_pathname(entry);
	bool is_file = archive_entry_filetype(entry) == AE_IFREG;

	if (u->now == MANIFEST)
		return corrupt(u, "something follows its manifest");
	if (u->now == NOTHING) {
		u->now = SNAPSHOT;
		return is_file && strchr(path, '/') == NULL
		           ? 0
		           : corrupt(u, "it does not begin with a snapshot");
	}
	if (is_file && strcmp(path, BUNDLE_MANIFEST) == 0) {
		u->now = MANIFEST;
		return begin_manifest(u, entry);
	}
	u->now = EXTRA;
	if (strncmp(path, dir, sizeof(dir) - 1) != 0)
		return corrupt(u, "it has a file that does not belong there");
	if (++u->n_files > BUNDLE_FILES_MAX)
		return corrupt(u, "it has too many files");
	return u->extract != NULL ? extract_begin(u->extract, path_of(u, entry), entry) : 0;
}

static int on_data(struct unbundle *u, const void *data, size_t len)
{
	if (u->now == MANIFEST) {
		memcpy(u->manifest + u->manifest_len, data, len);
		u->manifest_len += len;
		return 0;
	}
	digest_update(u->digest, data, len);
	if (u->now == SNAPSHOT)
		return sink_write(u->next, data, len);
	return u->extract != NULL ? extract_data(u->extract, data, len) : 0;
}

static int end_entry(struct unbundle *u, struct archive_entry *entry)
{
	char hex[DIGEST_HEX_MAX];
	json_t *object;

	if (u->now == MANIFEST)
		return 0;
	object = bundle_describe(path_of(u, entry), entry, digest_finish_hex(u->digest, hex));
	if (object == NULL)
		return corrupt(u, "a name in it is not UTF-8");
	if (u->now == SNAPSHOT) {
		u->snapshot = object;
		return 0;
	}
	(void) json_array_append_new(u->extra, object);
	return u->extract != NULL ? extract_end(u->extract) : 0;
}

static int compare_manifest(struct unbundle *u)
{
	json_t *manifest;
	bool same, known;

	if (u->now != MANIFEST)
		return corrupt(u, "it has no manifest");
	manifest = json_loadb(u->manifest, u->manifest_len, JSON_REJECT_DUPLICATES, NULL);
	known = json_integer_value(json_object_get(manifest, "version")) == BUNDLE_VERSION;
	same = json_equal(json_object_get(manifest, "snapshot"), u->snapshot) != 0 &&
	       json_equal(json_object_get(manifest, "extra"), u->extra) != 0;
	json_decref(manifest);
	if (!known)
		return corrupt(u, "its manifest is not one of version 1");
	if (!same)
		return corrupt(u, "its files are not those of its manifest");
	return 0;
}

/* --- the archive --- */

DEFINE_AUTO(struct archive, archive_read_free);

/* libarchive reads more kinds of tar than this program writes. */
static bool is_ours(struct archive *archive, struct archive_entry *entry)
{
	const char *path = archive_entry_pathname(entry), *link = archive_entry_symlink(entry);
	mode_t type = archive_entry_filetype(entry);

	return (archive_format(archive) == ARCHIVE_FORMAT_TAR_USTAR ||
	        archive_format(archive) == ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE) &&
	       archive_filter_bytes(archive, -1) - archive_read_header_position(archive) <=
	           HEADERS_BYTES_MAX &&
	       path != NULL && strlen(path) < BUNDLE_PATH_MAX &&
	       archive_entry_hardlink(entry) == NULL && archive_entry_sparse_count(entry) == 0 &&
	       (type == AE_IFREG || (archive_entry_size(entry) == 0 &&
	                             (type == AE_IFDIR || (type == AE_IFLNK && link != NULL &&
	                                                   strlen(link) < BUNDLE_PATH_MAX))));
}

/* tar writes a directory as "path/". */
static void drop_slash(struct archive_entry *entry)
{
	AUTO(free) char *path = xstrdup(archive_entry_pathname(entry));
	size_t len = strlen(path);

	if (archive_entry_filetype(entry) == AE_IFDIR && len > 0 && path[len - 1] == '/') {
		path[len - 1] = '\0';
		archive_entry_copy_pathname(entry, path);
	}
}

static int damaged(struct unbundle *u, const char *what)
{
	return problem_set(u->problem, -EBADMSG, "CORRUPT", "the archive is damaged: %s", what);
}

static int read_entry(struct unbundle *u, struct archive *archive, struct archive_entry *entry)
{
	la_int64_t at = 0, offset;
	const void *data;
	size_t len;
	int r, got;

	if (!is_ours(archive, entry))
		return damaged(u, "it has an entry that is none of ours");
	drop_slash(entry);
	r = begin_entry(u, entry);
	while (r == 0) {
		got = archive_read_data_block(archive, &data, &len, &offset);
		if (got == ARCHIVE_EOF)
			break;
		if (got != ARCHIVE_OK || offset != at)
			return damaged(u, "its data cannot be read");
		at += (la_int64_t) len;
		r = at > archive_entry_size(entry) ? damaged(u, "too much data") : on_data(u, data, len);
	}
	if (r == 0 && at != archive_entry_size(entry))
		return damaged(u, "it ends in the middle");
	return r < 0 ? r : end_entry(u, entry);
}

/* A long name that is not ASCII, and whose pax header names no character set, as this program wrote
 * it before libarchive did: in the locale "C" libarchive warns, and gives the bytes as they are. */
static bool is_header(struct archive *archive, int got)
{
	const char *error = archive_error_string(archive);

	return got == ARCHIVE_OK ||
	       (got == ARCHIVE_WARN && error != NULL && strstr(error, "can't be converted") != NULL);
}

static int read_archive(struct unbundle *u)
{
	AUTO(archive_read_free) struct archive *archive = archive_read_new();
	struct archive_entry *entry;
	int r, got;

	(void) archive_read_support_format_tar(archive);
	if (archive_read_open_fd(archive, u->ends[1], READ_BYTES) != ARCHIVE_OK)
		return damaged(u, "it is no tar archive");
	while (is_header(archive, got = archive_read_next_header(archive, &entry))) {
		r = read_entry(u, archive, entry);
		if (r < 0)
			return r;
	}
	if (got != ARCHIVE_EOF)
		return damaged(u, "what should be a header is none");
	/* It takes an archive without the zeros at its end for whole. */
	if (archive_filter_bytes(archive, -1) == archive_read_header_position(archive))
		return damaged(u, "it ends in the middle");
	return compare_manifest(u);
}

static void *run_thread(void *userdata)
{
	struct unbundle *u = userdata;
	AUTO(free) char *buffer = xcalloc(1, READ_BYTES);

	u->error = read_archive(u);
	/* tar fills its last record with zeros. */
	while (u->error == 0 && read(u->ends[1], buffer, READ_BYTES) > 0)
		;
	(void) close(TAKE_FD(u->ends[1]));
	return NULL;
}

/* --- the stage --- */

/* Nothing more comes. What the thread says. */
static int join(struct unbundle *u)
{
	if (u->ends[0] >= 0)
		(void) close(TAKE_FD(u->ends[0]));
	if (u->is_running)
		(void) pthread_join(u->thread, NULL);
	u->is_running = false;
	return u->error;
}

static int unbundle_write(struct sink *sink, const void *data, size_t len)
{
	struct unbundle *u = CONTAINER_OF(sink, struct unbundle, sink);
	const char *p = data;

	if (!u->is_running)
		return u->error;
	while (len > 0) {
		ssize_t n = send(u->ends[0], p, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return join(u);
		p += n;
		len -= (size_t) n;
	}
	return 0;
}

static int unbundle_finish(struct sink *sink)
{
	struct unbundle *u = CONTAINER_OF(sink, struct unbundle, sink);
	int r = join(u);

	return r < 0 ? r : sink_finish(u->next);
}

static void unbundle_free(struct sink *sink)
{
	struct unbundle *u = CONTAINER_OF(sink, struct unbundle, sink);

	(void) join(u);
	sink_free(u->next);
	digest_free(u->digest);
	json_decref(u->snapshot);
	json_decref(u->extra);
	free(u->manifest);
	free(u);
}

struct sink *unbundle_new(struct sink *snapshot, struct extract *extract, struct problem *problem)
{
	struct unbundle *u = NEW0(struct unbundle);
	int r;

	u->sink = (struct sink){unbundle_write, unbundle_finish, unbundle_free};
	u->next = snapshot;
	u->extract = extract;
	u->problem = problem;
	u->digest = digest_new(DIGEST_SHA256);
	u->extra = json_array();
	u->ends[0] = u->ends[1] = -1;
	r = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, u->ends) < 0 ? errno : 0;
	if (r == 0)
		r = pthread_create(&u->thread, NULL, run_thread, u);
	u->is_running = r == 0;
	if (r != 0) {
		u->error = problem_set_errno(problem, -r, "cannot read a bundle");
		if (u->ends[1] >= 0)
			(void) close(TAKE_FD(u->ends[1]));
	}
	return &u->sink;
}
