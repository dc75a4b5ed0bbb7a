/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Headers of tar archives: POSIX ustar, and a pax header before it for what does not fit in there
 * (long names, files of 8 GiB and more). Every tar of today reads it. Pure.
 *
 * Source: POSIX.1-2017, pax, "ustar Interchange Format" and "pax Extended Header".
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAR_BLOCK_BYTES 512
#define TAR_PATH_MAX 1024
/* Of one pax header; ours have two paths and a number. */
#define TAR_PAX_MAX 8192

enum tar_type {
	TAR_FILE = '0',
	TAR_SYMLINK = '2',
	TAR_DIRECTORY = '5',
	TAR_PAX = 'x', /* what follows is said of the next entry */
};

struct tar_entry {
	enum tar_type type;
	char path[TAR_PATH_MAX];
	char link[TAR_PATH_MAX]; /* of a symbolic link: its content */
	unsigned mode;           /* permissions */
	unsigned uid;
	unsigned gid;
	uint64_t n_bytes; /* of the data that follows */
	int64_t mtime_s;
};

/* All that stands before the data, in whole blocks. The caller frees it. */
uint8_t *tar_format(const struct tar_entry *entry, size_t *ret_len);

/* How many zeros follow so many bytes of data. */
size_t tar_padding(uint64_t n_bytes);

/* 1: it is a header; 0: it is the zeros at the end; -EBADMSG: neither, or of a kind that we do not
 * make. */
int tar_parse(const uint8_t block[static TAR_BLOCK_BYTES], struct tar_entry *ret_entry);

/* Applies the records of a pax header to the entry that it is about. Those that we do not make are
 * passed over. -EBADMSG for what is no record. */
int tar_apply_pax(const char *text, size_t len, struct tar_entry *entry);
