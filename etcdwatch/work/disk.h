/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A thread, named "disk", that does the blocking work of one job: a disk that stalls holds up that
 * job and never the loop. Tasks are done one at a time, in the order in which they were given.
 */

#include <ev.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/cleanup.h"

struct disk;

/* Embedded in whatever the work is about, which belongs to the thread from disk_do() until
 * done() is called. */
struct disk_task {
	void (*work)(struct disk_task *task); /* on the thread; may block, may not log or call out */
	void (*done)(struct disk_task *task); /* on the loop; may give the task again */
	STAILQ_ENTRY(disk_task) entry;
};

int disk_new(struct ev_loop *ev, struct disk **ret_disk);
/* Waits until the task under way is over. Those behind it are not begun, and no done() is called
 * any more. Not inside a done(). */
void disk_free(struct disk *disk);
DEFINE_AUTO(struct disk, disk_free);

void disk_do(struct disk *disk, struct disk_task *task);

/* How long the task under way has been at it; 0: there is none. A disk that hangs lets none end. */
int64_t disk_busy_us(struct disk *disk);
