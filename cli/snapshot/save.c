/* SPDX-License-Identifier: Apache-2.0 */
/* The copy grows with the daemon's file, and each piece of it is read back. */
#include "cli/snapshot/save.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "cli/common/fields.h"
#include "cli/common/progress.h"
#include "cli/common/table.h"

/* What the processor's cache keeps until it is read back. */
#define PIECE_BYTES ((size_t) 256 << 10)
#define FLUSH_BYTES (16 << 20)
#define NICE 10
#define FILE_MODE 0600 /* it holds all secrets of the cluster */

static int explain(const char *what, const char *path, int r)
{
	progress_clear();
	(void) fprintf(stderr, "fairlead: cannot %s ", what);
	table_print_safe(stderr, path);
	(void) fprintf(stderr, ": %s\n", strerror(-r));
	return r == -EACCES || r == -EPERM ? CLI_DENIED : CLI_FAILED;
}

static int explain_fault(const struct save_file *file)
{
	progress_clear();
	(void) fputs("fairlead: ", stderr);
	table_print_safe(stderr, file->temporary);
	(void) fprintf(stderr, ": %s\n", file->fault.what);
	return CLI_FAILED;
}

static void finish(struct save_file *file, int code)
{
	file->code = code;
	(void) close(TAKE_FD(file->fd));
}

void save_file_init(struct save_file *file, const char *path)
{
	*file = (struct save_file){.path = path, .fd = -1};
}

/* The stream goes first: it holds a transaction of the member open. */
static void give_way(struct save_file *file)
{
	file->priority = getpriority(PRIO_PROCESS, 0);
	(void) setpriority(PRIO_PROCESS, 0, file->priority + NICE);
}

void save_file_begin(struct save_file *file)
{
	give_way(file);
	file->temporary = xasprintf("%s.part-%d", file->path, (int) getpid());
	file->sum = snapshot_sum_new(&file->fault);
	file->fd = open(file->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
	if (file->fd < 0)
		file->code = explain("make", file->temporary, -errno);
}

/* The descriptor's offset is the daemon's too. */
void save_file_copy(struct save_file *file, int fd)
{
	while (file->fd >= 0) {
		off_t offset = file->bytes;
		ssize_t n = sendfile(file->fd, fd, &offset, PIECE_BYTES);

		if (n == 0)
			return;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			finish(file, explain("write", file->temporary, -errno));
			return;
		}
		/* The disk is to work meanwhile. */
		if (file->bytes / FLUSH_BYTES != offset / FLUSH_BYTES)
			(void) sync_file_range(file->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
		file->bytes = offset;
		if (snapshot_sum_add(file->sum, file->fd, (uint64_t) file->bytes) < 0)
			finish(file, explain_fault(file));
	}
}

void save_file_end(struct save_file *file, int fd)
{
	(void) setpriority(PRIO_PROCESS, 0, file->priority);
	save_file_copy(file, fd);
	if (file->fd < 0)
		return;
	if (snapshot_sum_check(file->sum, file->fd, (uint64_t) file->bytes) < 0)
		finish(file, explain_fault(file));
	else
		finish(file, fsync(file->fd) < 0 ? explain("write", file->temporary, -errno) : CLI_OK);
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
	if (file->fd >= 0)
		(void) close(file->fd);
	if (file->temporary != NULL)
		(void) unlink(file->temporary);
	free(file->temporary);
	snapshot_sum_free(file->sum);
}
