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
#include "cli/cli.h"
#include "cli/common/table.h"

#define SHOWN_FROM_BYTES ((uint64_t) 16 << 20)
#define TAR_MAGIC_AT 257

int etcd_file_explain(const struct etcd_file *file, int r)
{
	progress_clear();
	(void) fputs("fairlead: ", stderr);
	table_print_safe(stderr, file->path);
	(void) fprintf(stderr, ": %s\n", file->fault.what);
	return r == -EACCES || r == -EPERM ? CLI_DENIED : CLI_FAILED;
}

bool etcd_file_is_packed(const char *path)
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

int etcd_file_open(struct etcd_file *file, const char *path)
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
	(void) fprintf(stderr, "fairlead: cannot write to standard output: %s\n", strerror(errno));
	return CLI_FAILED;
}
