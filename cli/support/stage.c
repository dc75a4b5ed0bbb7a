/* SPDX-License-Identifier: Apache-2.0 */
/* The archive is made by tar(1) under another name, and gets its own when it is whole. */
#include "cli/support/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/output.h"

#define TAR_TIMEOUT_US (120 * US_PER_S)
#define TAR_BYTES_MAX 4096
#define WALK_FDS 8

struct stage {
	char *archive;
	char *directory; /* what is removed in the end */
	char *name;      /* in it, and in the archive */
	struct texts files, notes;
	size_t n_bytes;
};

static int remove_cb(const char *path, const struct stat *st UNUSED, int type UNUSED,
                     struct FTW *ftw UNUSED)
{
	(void) remove(path);
	return 0;
}

void stage_free(struct stage *s)
{
	if (s == NULL)
		return;
	(void) nftw(s->directory, remove_cb, WALK_FDS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	texts_fini(&s->files);
	texts_fini(&s->notes);
	free(s->archive);
	free(s->directory);
	free(s->name);
	free(s);
}

int stage_new(const char *archive, const char *name, struct stage **ret_stage)
{
	const char *slash = strrchr(archive, '/');
	AUTO(free)
	char *directory = xasprintf("%.*s.fairlead-support-XXXXXX",
	                            slash != NULL ? (int) (slash + 1 - archive) : 0, archive);
	AUTO(free) char *inner = NULL;
	struct stage *s;

	if (mkdtemp(directory) == NULL)
		return -errno;
	inner = xasprintf("%s/%s", directory, name);
	if (mkdir(inner, 0700) < 0) {
		int r = -errno;

		(void) rmdir(directory);
		return r;
	}
	s = NEW0(struct stage);
	s->archive = xstrdup(archive);
	s->directory = TAKE_PTR(directory);
	s->name = xstrdup(name);
	*ret_stage = s;
	return 0;
}

void stage_note(struct stage *s, const char *fmt, ...)
{
	AUTO(free) char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	texts_add(&s->notes, "%s", text);
}

void stage_add(struct stage *s, const char *path, const char *text)
{
	AUTO(free) char *at = xasprintf("%s/%s/%s", s->directory, s->name, path);
	size_t len = strlen(text);
	int r;

	if (s->n_bytes + len > STAGE_ALL_BYTES_MAX) {
		stage_note(s, "%s: left out, since all would be more than %u MiB", path,
		           STAGE_ALL_BYTES_MAX >> 20);
		return;
	}
	s->n_bytes += len;
	for (char *slash = at + strlen(s->directory) + 1; (slash = strchr(slash, '/')) != NULL;
	     slash++) {
		*slash = '\0';
		(void) mkdir(at, 0700);
		*slash = '/';
	}
	r = file_write_atomic(at, text, len, 0600, FILE_VOLATILE);
	if (r < 0)
		stage_note(s, "%s: cannot be written: %s", path, strerror(-r));
	else
		texts_add(&s->files, "%s", path);
}

const struct texts *stage_files(const struct stage *s)
{
	return &s->files;
}

const struct texts *stage_notes(const struct stage *s)
{
	return &s->notes;
}

/* --- the archive --- */

static int sync_file(const char *path)
{
	AUTO(close) int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

int stage_pack(struct stage *s, char **ret_error)
{
	AUTO(free) char *temporary = xasprintf("%s/archive", s->directory);
	const char *const words[] = {"tar",        "--create", "--gzip",  "--owner=0",
	                             "--group=0",  "--file",   temporary, "--directory",
	                             s->directory, s->name,    NULL};
	AUTO(close) int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct output output;
	int r;

	if (fd < 0)
		return -errno;
	r = output_run(words, TAR_TIMEOUT_US, TAR_BYTES_MAX, &output);
	if (r == 0 && output.exit_code != 0) {
		*ret_error = xstrdup(output.text);
		r = -EIO;
	}
	output_fini(&output);
	return r == 0 ? sync_file(temporary) : r;
}

int stage_publish(struct stage *s)
{
	AUTO(free) char *temporary = xasprintf("%s/archive", s->directory);

	return rename(temporary, s->archive) < 0 ? -errno : 0;
}
