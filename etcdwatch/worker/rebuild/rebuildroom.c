/* SPDX-License-Identifier: Apache-2.0 */
#include "etcdwatch/worker/rebuild/rebuildroom.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "etcdwatch/worker/common/room.h"

/* Rounded up: what is needed is not told as less than it is. */
static uint64_t in_mb(uint64_t bytes)
{
	return (bytes + 999999) / 1000000;
}

int rebuildroom_check(const struct rebuildroom *room, const char *output, struct problem *problem)
{
	AUTO(free) char *copy = xstrdup(output);
	const char *directory = dirname(copy);
	uint64_t need_bytes =
	    room->fetched_bytes + room->unpacked_bytes + room->base_bytes + room->record_bytes;
	uint64_t free_bytes = 0;

	if (room_free_bytes(directory, &free_bytes) < 0 || free_bytes >= need_bytes)
		return 0;
	return problem_set(problem, -ENOSPC, "NO_SPACE",
	                   "%" PRIu64 " MB are free in '%s', and about %" PRIu64
	                   " MB are needed: %" PRIu64 " MB for the database of the snapshot, %" PRIu64
	                   " MB for what was recorded behind it, %" PRIu64
	                   " MB to fetch and unpack the snapshot meanwhile: make room, or name a file "
	                   "on another disk",
	                   free_bytes / 1000000, directory, in_mb(need_bytes), in_mb(room->base_bytes),
	                   in_mb(room->record_bytes),
	                   in_mb(room->fetched_bytes + room->unpacked_bytes));
}
