/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whole files, read with a limit and written so that a reader sees the old content or the new one,
 * never a mixture. Blocking: for start-up, for tmpfs, and for worker threads; not for the loop on a
 * real disk.
 */

#include <stddef.h>
#include <sys/types.h>

/*
 * Reads all of path into a new buffer (caller frees) that has a NUL behind its len bytes.
 * -EFBIG when it is longer than max_bytes, -EOPNOTSUPP when it is a FIFO, which nobody waits for;
 * else 0 or -errno.
 */
int file_read(const char *path, size_t max_bytes, char **ret_data, size_t *ret_len);

enum file_durability {
	FILE_VOLATILE, /* atomic for readers, no fsync: for /run */
	FILE_WHOLE, /* the file is synced: after a loss of power it is the old or the new one, whole */
	FILE_DURABLE, /* file and directory are synced before it returns: it is the new one */
};

/* Writes a temporary file beside path, then renames it over path. 0 or -errno; on error path is as
 * it was. */
int file_write_atomic(const char *path, const void *data, size_t len, mode_t mode,
                      enum file_durability durability);

/* write(2) until all is written: 0 or -errno. Blocking. */
int file_write_all(int fd, const void *data, size_t len);

/* fsync(2) of the directory that the path is in, so that a rename or a removal there lasts. */
int file_sync_directory_of(const char *path);
