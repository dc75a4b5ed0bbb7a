/* SPDX-License-Identifier: Apache-2.0 */
/* Between lib/bolt and the commands: files, sentences, bytes. */
#include "cli/snapshot/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "cli/common/snapshotsource.h"
#include "cli/common/table.h"
#include "cli/common/worker.h"

#define SHOWN_FROM_BYTES ((uint64_t) 16 << 20)
#define TAR_MAGIC_AT 257

int etcd_file_explain(const struct etcd_file *file, int r)
{
	progress_clear();
	table_line(stderr, "fairlead: %s: %s", file->path, file->fault.what);
	return r == -EACCES || r == -EPERM ? CLI_DENIED : CLI_FAILED;
}

/* By its name or its first bytes: compressed, encrypted or a bundle. */
static bool etcd_file_is_packed(const char *path)
{
	static const struct {
		size_t at;
		const char *magic;
		const char *suffix;
	} layers[] = {
	    {0, "age-encryption.org/v1\n", ".age"},
	    {0, "\x28\xb5\x2f\xfd", ".zst"},
	    {TAR_MAGIC_AT, "ustar", ".tar"},
	};
	AUTO(close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char found[TAR_MAGIC_AT + 5] = "";
	size_t len = strlen(path);

	if (fd < 0 || pread(fd, found, sizeof(found), 0) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(layers); i++) {
		size_t n = strlen(layers[i].suffix);

		if (memcmp(found + layers[i].at, layers[i].magic, strlen(layers[i].magic)) == 0 ||
		    (len > n && strcmp(path + len - n, layers[i].suffix) == 0))
			return true;
	}
	return false;
}

/* A plain file: CLI_OK, or what etcd_file_explain() returns. `file` must stay where it is until
 * etcd_file_fini(). */
static int etcd_file_open(struct etcd_file *file, const char *path)
{
	int r;

	*file = (struct etcd_file){.path = path};
	r = snapshot_open(path, &file->fault, &file->snapshot);
	return r < 0 ? etcd_file_explain(file, r) : CLI_OK;
}

void etcd_file_fini(struct etcd_file *file)
{
	snapshot_close(file->snapshot);
	progress_free(file->progress);
	free(file->owned_path);
	free(file->id);
	*file = (struct etcd_file){0};
}

static void pass_cb(const char *pass, uint64_t bytes, uint64_t of_bytes, void *userdata)
{
	/* It is at 0 before the first page is there, and a small file is read in no time. */
	if (bytes > SHOWN_FROM_BYTES)
		progress_show(userdata, pass, (int64_t) bytes, (int64_t) of_bytes, true);
}

void etcd_file_show_progress(struct etcd_file *file)
{
	file->progress = progress_new(true);
	if (progress_is_seen(file->progress))
		bolt_on_pass(snapshot_db(file->snapshot), pass_cb, file->progress);
}

void etcd_print_safe(FILE *out, struct bytes text)
{
	AUTO(free) char *copy = xcalloc(1, text.len + 1);

	for (size_t i = 0; i < text.len; i++)
		copy[i] = text.data[i] != '\0' ? (char) text.data[i] : '\1';
	table_print_safe(out, copy);
}

char *etcd_base64(struct bytes data)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *text = xcalloc((data.len + 2) / 3 * 4 + 1, 1), *p = text;

	for (size_t i = 0; i < data.len; i += 3) {
		size_t n = MIN(data.len - i, (size_t) 3);
		uint32_t bits = (uint32_t) data.data[i] << 16;

		if (n > 1)
			bits |= (uint32_t) data.data[i + 1] << 8;
		if (n > 2)
			bits |= data.data[i + 2];
		*p++ = digits[bits >> 18];
		*p++ = digits[bits >> 12 & 63];
		*p++ = n > 1 ? digits[bits >> 6 & 63] : '=';
		*p++ = n > 2 ? digits[bits & 63] : '=';
	}
	return text;
}

int etcd_flush(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return CLI_OK;
	return cli_fail("cannot write to standard output: %s", strerror(errno));
}

/* --- find --- */

/*
 * A plain file is opened here. For all other names the worker finds the snapshot and unpacks it
 * into a file that this process has open and that has no name, so that nothing plain stays on the
 * disk, however this process ends.
 */

#define SCRATCH_BASE "/var/tmp"
#define SCRATCH_NAME "/fairlead-snapshot-XXXXXX"

struct finding {
	struct progress *progress;
	json_t *last; /* what the worker ended with; NULL: it was killed */
};

/* --- scratch --- */

static int refuse_scratch(const char *path)
{
	return cli_fail("cannot write into '%s': %s; $TMPDIR may name another directory", path,
	                strerror(errno));
}

/* A directory, and an open file in it whose name is gone already. The worker inherits the file. */
static int make_scratch(char **ret_directory, int *ret_fd)
{
	const char *base = getenv("TMPDIR");
	AUTO(free)
	char *directory =
	    xasprintf("%s" SCRATCH_NAME, base != NULL && base[0] != '\0' ? base : SCRATCH_BASE);
	AUTO(free) char *path = NULL;
	int fd;

	if (mkdtemp(directory) == NULL)
		return refuse_scratch(directory);
	path = xasprintf("%s/plain", directory);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (fd < 0 || unlink(path) < 0) {
		(void) refuse_scratch(path);
		(void) unlink(path);
		(void) rmdir(directory);
		return CLI_FAILED;
	}
	*ret_directory = TAKE_PTR(directory);
	*ret_fd = fd;
	return CLI_OK;
}

/* The worker has done it, unless it was killed. */
static void remove_scratch(const char *directory)
{
	struct texts words = {0};
	json_t *last = NULL;

	if (rmdir(directory) == 0 || errno == ENOENT)
		return;
	texts_add(&words, "drill");
	texts_add(&words, "--clear");
	texts_add_option(&words, "--directory", directory);
	(void) worker_run(&words, NULL, NULL, &last);
	json_decref(last);
	texts_fini(&words);
	(void) rmdir(directory);
}

/* --- the worker --- */

static void told(const json_t *object, void *userdata)
{
	struct finding *f = userdata;

	if (json_object_get(object, "ok") != NULL)
		f->last = json_incref((json_t *) (uintptr_t) object);
	else if (json_object_get(object, "name") != NULL)
		progress_anew(f->progress);
	else
		(void) progress_show_told(f->progress, object);
}

static const char *text_of(const struct finding *f, const char *key)
{
	return json_string_value(json_object_get(f->last, key));
}

static int run_worker(const struct snapshotsource *source, const char *directory, int fd,
                      struct finding *f)
{
	struct texts words = {0};
	int code;

	texts_add(&words, "open");
	texts_add(&words, "--to-fd");
	texts_add(&words, "%d", fd);
	texts_add_option(&words, "--scratch", directory);
	texts_add_all(&words, &source->find);
	texts_add_all(&words, &source->decrypt);
	texts_add(&words, "--");
	texts_add(&words, "%s", source->name);
	code = worker_run_telling(&words, told, f);
	texts_fini(&words);
	return code;
}

/* How it is called from here on: on other nodes a key alone says nothing. */
static char *name_found(const struct snapshotsource *source, const struct finding *f)
{
	const char *id = text_of(f, "id");

	if (source->target == NULL)
		return xstrdup(text_of(f, "origin"));
	return xasprintf("s3:%s%s", source->target, id != NULL ? id : source->name);
}

static int open_found(struct etcd_file *file, const struct snapshotsource *source, int fd,
                      const struct finding *f)
{
	const char *plain = text_of(f, "file"), *id = text_of(f, "id");
	AUTO(free) char *ours = xasprintf("/proc/self/fd/%d", fd);
	int r;

	if (text_of(f, "rejected") != NULL)
		table_line(stderr, "fairlead: etcdwatch has put %s aside: %s", id, text_of(f, "rejected"));
	file->id = id != NULL ? xstrdup(id) : NULL;
	file->owned_path = name_found(source, f);
	file->path = file->owned_path;
	r = snapshot_open(plain != NULL ? plain : ours, &file->fault, &file->snapshot);
	return r < 0 ? etcd_file_explain(file, r) : CLI_OK;
}

static int find_elsewhere(const struct snapshotsource *source, struct etcd_file *file)
{
	AUTO(progress_free) struct progress *progress = progress_new(true);
	struct finding f = {.progress = progress};
	AUTO(free) char *directory = NULL;
	AUTO(close) int fd = -1;
	int code = make_scratch(&directory, &fd);

	if (code != CLI_OK)
		return code;
	code = run_worker(source, directory, fd, &f);
	/* Not for a worker that is run for another snapshot. */
	(void) fcntl(fd, F_SETFD, FD_CLOEXEC);
	remove_scratch(directory);
	if (code == CLI_OK)
		code = open_found(file, source, fd, &f);
	else if (text_of(&f, "reason") != NULL)
		(void) snprintf(file->fault.what, sizeof(file->fault.what), "%s", text_of(&f, "reason"));
	json_decref(f.last);
	return code;
}

/* --- all --- */

static bool is_file(const char *name)
{
	return !snapshotsource_is_s3(name) && (strchr(name, '/') != NULL || access(name, F_OK) == 0);
}

int etcd_file_find(const struct cli *cli, const char *name, struct etcd_file *ret_file)
{
	struct snapshotoptions options = {.source = name};
	struct snapshotsource source = {0};
	int code;

	*ret_file = (struct etcd_file){.path = name, .fault.page = BOLT_NO_PAGE};
	if (is_file(name) && !etcd_file_is_packed(name))
		return etcd_file_open(ret_file, name);
	code = cli_set_own(cli, &options);
	if (code == CLI_OK)
		code = snapshotsource_find(&options, &source);
	if (code == CLI_OK)
		code = find_elsewhere(&source, ret_file);
	snapshotsource_fini(&source);
	snapshotoptions_fini(&options);
	return code;
}
