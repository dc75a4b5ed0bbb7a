/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether the disk has room for what a rebuild makes, told before it begins: the result is at most
 * about as large as the snapshot and what was recorded behind it, and a snapshot that is packed, or
 * elsewhere, needs room beside it.
 */

#include <stdint.h>

#include "etcdwatch/worker/common/problem.h"

struct rebuildroom {
	uint64_t fetched_bytes;  /* of the snapshot's file, if it is fetched; 0 */
	uint64_t unpacked_bytes; /* of its database, if it has to be unpacked; 0 */
	uint64_t base_bytes;     /* of its database */
	uint64_t record_bytes;
};

/* Of the file system that the file is to be on. 0; or -ENOSPC and NO_SPACE, with all of it in MB;
 * what cannot be told is room enough. */
int rebuildroom_check(const struct rebuildroom *room, const char *output, struct problem *problem);
