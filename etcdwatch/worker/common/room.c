/* SPDX-License-Identifier: Apache-2.0 */
#include "etcdwatch/worker/common/room.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

uint64_t room_of(const struct statvfs *fs, bool is_root)
{
	return (uint64_t) (is_root ? fs->f_bfree : fs->f_bavail) * fs->f_frsize;
}

static int ask(const char *directory, bool is_root, uint64_t *ret_bytes)
{
	struct statvfs fs;

	if (statvfs(directory, &fs) < 0)
		return -errno;
	*ret_bytes = room_of(&fs, is_root);
	return 0;
}

int room_free_bytes(const char *directory, uint64_t *ret_bytes)
{
	return ask(directory, geteuid() == 0, ret_bytes);
}

int room_common_bytes(const char *directory, uint64_t *ret_bytes)
{
	return ask(directory, false, ret_bytes);
}

int room_check(const char *path, uint64_t need_bytes, struct problem *problem, const char *fmt, ...)
{
	AUTO(free) char *copy = xstrdup(path);
	const char *directory = dirname(copy);
	char purpose[PROBLEM_REASON_MAX / 2];
	uint64_t free_bytes = 0;
	va_list ap;

	if (room_free_bytes(directory, &free_bytes) < 0 || free_bytes >= need_bytes)
		return 0;
	va_start(ap, fmt);
	(void) vsnprintf(purpose, sizeof(purpose), fmt, ap);
	va_end(ap);
	return problem_set(problem, -ENOSPC, "NO_SPACE",
	                   "%s takes %" PRIu64 " bytes, and %" PRIu64
	                   " are free in '%s': make room, or use another disk",
	                   purpose, need_bytes, free_bytes, directory);
}
