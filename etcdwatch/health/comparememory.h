/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whose data differ, over restarts and reloads too: a small file in a job's directory, with a line
 * for each member (or 0, the cluster) that says how often in a row they did. Without it a daemon
 * that is started anew would delete snapshots until it has compared for itself. Read once, and
 * written whenever it changes, by a thread of its own, like all that waits for a disk.
 */

#include <ev.h>

#include "base/cleanup.h"
#include "etcdwatch/health/hashes.h"

#define COMPAREMEMORY_FILE ".compare-state" /* hidden: no entry of the catalogue */

struct comparememory;

/* What was read; nothing differs if there was nothing, or nothing of use. Never from inside. */
typedef void (*comparememory_read_fn)(const struct hashes_memory *memory, void *userdata);

/* Begins to read. 0, or -errno: the thread cannot be started. */
int comparememory_new(struct ev_loop *ev, const char *directory, comparememory_read_fn done,
                      void *userdata, struct comparememory **ret_memory);
/* Waits for the disk, but not for what has not been begun. NULL is fine. */
void comparememory_free(struct comparememory *memory);
DEFINE_AUTO(struct comparememory, comparememory_free);

/* It is as it is now that it will be remembered; what fails is logged. */
void comparememory_write(struct comparememory *memory, const struct hashes_memory *known);
