/* SPDX-License-Identifier: Apache-2.0 */
/* The check reads the copy back while the disk writes it. */
#include "cli/snapshot/save.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/mem.h"
#include "cli/snapshot/file.h"
#include "cli/common/fields.h"
#include "cli/common/table.h"

#define BUFFER_BYTES ((size_t) 1 << 20)
#define FILE_MODE 0600 /* it holds all secrets of the cluster */

static int explain(const char *what, const char *path, int r)
{
	(void) fprintf(stderr, "fairlead: cannot %s ", what);
	table_print_safe(stderr, path);
	(void) fprintf(stderr, ": %s\n", strerror(-r));
	return r == -EACCES || r == -EPERM ? CLI_DENIED : CLI_FAILED;
}

/* The descriptor's offset is the daemon's too. */
static int copy(int from, int to)
{
	AUTO(free) char *buffer = xcalloc(BUFFER_BYTES, 1);
	off_t offset = 0;
	ssize_t n;

	while ((n = pread(from, buffer, BUFFER_BYTES, offset)) != 0) {
		int r = 0;

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			r = file_write_all(to, buffer, (size_t) n);
		if (r < 0)
			return r;
		offset += n > 0 ? n : 0;
		(void) sync_file_range(to, 0, 0, SYNC_FILE_RANGE_WRITE);
	}
	return 0;
}

/* Every byte is what the member has sent. */
static int check(const char *path)
{
	struct etcd_file file;
	int code, r;

	code = etcd_file_open(&file, path);
	if (code != CLI_OK)
		return code;
	etcd_file_show_progress(&file);
	r = snapshot_check_digest(file.snapshot);
	progress_clear();
	if (r < 0)
		code = etcd_file_explain(&file, r);
	etcd_file_fini(&file);
	return code;
}

static int make(int from, const char *path, off_t *ret_bytes)
{
	AUTO(close)
	int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
	struct stat st;
	int r, code;

	if (to < 0)
		return explain("make", path, -errno);
	r = copy(from, to);
	if (r < 0)
		return explain("write", path, r);
	code = check(path);
	if (code != CLI_OK)
		return code;
	if (fsync(to) < 0 || fstat(to, &st) < 0)
		return explain("write", path, -errno);
	*ret_bytes = st.st_size;
	return CLI_OK;
}

void save_file_copy(struct save_file *file, const char *path, int fd)
{
	*file = (struct save_file){.path = path};
	file->temporary = xasprintf("%s.part-%d", path, (int) getpid());
	file->code = make(fd, file->temporary, &file->bytes);
}

static int give_name(const char *from, const char *to)
{
	AUTO(free) char *directory = xstrdup(to);
	char *slash = strrchr(directory, '/');
	AUTO(close) int fd = -1;

	if (rename(from, to) < 0)
		return explain("make", to, -errno);
	if (slash != NULL)
		slash[slash == directory] = '\0';
	fd = open(slash != NULL ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 || fsync(fd) < 0 ? explain("sync the directory of", to, -errno) : CLI_OK;
}

static void print(const json_t *entry, const char *path, off_t bytes)
{
	(void) fputs("etcd snapshot saved to \"", stdout);
	table_print_safe(stdout, path);
	(void) printf("\" (%lld bytes)\n", (long long) bytes);
	(void) printf("snapshot info: hash %08" PRIx32 ", revision %lld, total keys %lld, "
	              "total size %lld\n",
	              (uint32_t) field_integer(entry, "hash"),
	              (long long) field_integer(entry, "revision"),
	              (long long) field_integer(entry, "total_key"),
	              (long long) field_integer(entry, "db_bytes"));
}

int save_file_keep(struct save_file *file, const struct cli *cli, const json_t *entry)
{
	int code = file->code;

	if (file->temporary == NULL || entry == NULL) {
		(void) fputs("fairlead: the snapshot was taken and kept, but etcdwatch cannot hand it "
		             "over: is it of another version?\n",
		             stderr);
		return CLI_FAILED;
	}
	if (code == CLI_OK && file->bytes != field_integer(entry, "db_bytes") + SNAPSHOT_DIGEST_BYTES)
		code = explain("use", file->temporary, -EBADMSG);
	if (code == CLI_OK)
		code = give_name(file->temporary, file->path);
	if (code != CLI_OK)
		return code;
	free(TAKE_PTR(file->temporary));
	if (cli->output == CLI_TABLE)
		print(entry, file->path, file->bytes);
	return CLI_OK;
}

void save_file_fini(struct save_file *file)
{
	if (file->temporary != NULL)
		(void) unlink(file->temporary);
	free(file->temporary);
}
