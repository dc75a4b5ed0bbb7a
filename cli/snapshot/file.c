/* SPDX-License-Identifier: Apache-2.0 */
/* Between lib/bolt and the commands: files, sentences, bytes. */
#include "cli/snapshot/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/common/table.h"

#define ZSTD_MAGIC "\x28\xb5\x2f\xfd"
#define SHOWN_FROM_BYTES ((uint64_t) 16 << 20)
#define AGE_MAGIC "age-encryption.org/v1\n"

int etcd_file_explain(const struct etcd_file *file, int r)
{
	progress_clear();
	(void) fputs("fairlead: ", stderr);
	table_print_safe(stderr, file->path);
	(void) fprintf(stderr, ": %s\n", file->fault.what);
	return r == -EACCES || r == -EPERM ? CLI_DENIED : CLI_FAILED;
}

static bool begins_with(const char *path, const char *magic, size_t len)
{
	AUTO(close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char found[32];

	return fd >= 0 && read(fd, found, sizeof(found)) >= (ssize_t) len &&
	       memcmp(found, magic, len) == 0;
}

/* As most of them are that lie in the directory of a job. */
static void explain_packing(struct etcd_file *file)
{
	bool age = begins_with(file->path, AGE_MAGIC, strlen(AGE_MAGIC));

	if (!age && !begins_with(file->path, ZSTD_MAGIC, strlen(ZSTD_MAGIC)))
		return;
	file->fault.page = BOLT_NO_PAGE;
	(void) snprintf(file->fault.what, sizeof(file->fault.what),
	                "it is %s: etcdwatch-worker unpack FILE --to PLAIN.db%s makes a plain copy",
	                age ? "encrypted" : "compressed", age ? " --identity KEY" : "");
}

int etcd_file_try(struct etcd_file *file, const char *path)
{
	int r;

	*file = (struct etcd_file){.path = path};
	r = snapshot_open(path, &file->fault, &file->snapshot);
	if (r == -EBADMSG)
		explain_packing(file);
	return r;
}

int etcd_file_open(struct etcd_file *file, const char *path)
{
	int r = etcd_file_try(file, path);

	return r < 0 ? etcd_file_explain(file, r) : CLI_OK;
}

void etcd_file_fini(struct etcd_file *file)
{
	snapshot_close(file->snapshot);
	progress_free(file->progress);
	*file = (struct etcd_file){.path = file->path};
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
	(void) fprintf(stderr, "fairlead: cannot write to standard output: %s\n", strerror(errno));
	return CLI_FAILED;
}
