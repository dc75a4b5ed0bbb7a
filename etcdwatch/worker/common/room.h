/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How much room a disk has, asked before something is written whose size is known, or is said by
 * somebody else: a disk that is full stops whoever else writes to it, etcd above all.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/statvfs.h>

#include "etcdwatch/worker/common/problem.h"

/* Root may also write to what a file system keeps back for it, as ext4 does. */
uint64_t room_of(const struct statvfs *fs, bool is_root);

/* What we may still write where the directory is; or -errno. */
int room_free_bytes(const char *directory, uint64_t *ret_bytes);
/* What anybody may: for who leaves the rest to others, whoever we are. */
int room_common_bytes(const char *directory, uint64_t *ret_bytes);

/* Whether that many bytes fit beside `path`, a file to be, for what the sentence calls `purpose`
 * ("to fetch 'x'"). 0; -ENOSPC and NO_SPACE; what cannot be told is room enough. */
int room_check(const char *path, uint64_t need_bytes, struct problem *problem, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
