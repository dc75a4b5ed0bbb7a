/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where a job's drills are remembered (drillstate.h): read once, and written whenever they change,
 * by a thread of its own, like all that waits for a disk.
 */

#include <ev.h>

#include "base/cleanup.h"
#include "etcdwatch/drill/drillstate.h"

struct drillmemory;

/* What was read, which is the callee's now; all empty if there was nothing, or nothing of use. */
typedef void (*drillmemory_read_fn)(const struct drillstate *state, void *userdata);

/* Begins to read. `job` is for the log, and borrowed. 0, or -errno: the thread cannot be started.
 */
int drillmemory_new(struct ev_loop *ev, const char *directory, const char *job,
                    drillmemory_read_fn done, void *userdata, struct drillmemory **ret_memory);
/* Waits for the disk, but not for what has not been begun. NULL is fine. */
void drillmemory_free(struct drillmemory *memory);
DEFINE_AUTO(struct drillmemory, drillmemory_free);

/* After the reading. It is as it is now that it will be remembered; what fails is logged. */
void drillmemory_write(struct drillmemory *memory, const struct drillstate *state);
