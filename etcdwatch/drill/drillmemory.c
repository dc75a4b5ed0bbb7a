/* SPDX-License-Identifier: Apache-2.0 */
/* One task at a time: what is to be written while one is under way waits, and replaces what waits
 * already. */
#include "etcdwatch/drill/drillmemory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/fileio.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/work/disk.h"

struct drillmemory {
	struct disk *disk;
	const char *job;
	char *path;
	drillmemory_read_fn done;
	void *userdata;

	struct disk_task task;
	bool is_busy;
	char *text; /* the task's */
	size_t len;
	int r;
	char *next; /* to be written behind it; NULL: nothing */
};

static void begin(struct drillmemory *m, void (*work)(struct disk_task *task),
                  void (*done)(struct disk_task *task))
{
	m->task = (struct disk_task){.work = work, .done = done};
	m->is_busy = true;
	disk_do(m->disk, &m->task);
}

/* --- writing ---------------------------------------------------------------------------------- */

static void write_work(struct disk_task *task)
{
	struct drillmemory *m = CONTAINER_OF(task, struct drillmemory, task);

	m->r = file_write_atomic(m->path, m->text, strlen(m->text), 0600, FILE_DURABLE);
}

static void write_next(struct drillmemory *m);

static void write_done(struct disk_task *task)
{
	struct drillmemory *m = CONTAINER_OF(task, struct drillmemory, task);

	m->is_busy = false;
	if (m->r < 0)
		(void) log_warning_errno(m->r, "drill_not_remembered", "job=%s path=%s", m->job, m->path);
	write_next(m);
}

static void write_next(struct drillmemory *m)
{
	if (m->is_busy || m->next == NULL)
		return;
	free(m->text);
	m->text = TAKE_PTR(m->next);
	begin(m, write_work, write_done);
}

void drillmemory_write(struct drillmemory *m, const struct drillstate *state)
{
	free(m->next);
	m->next = drillstate_print(state);
	write_next(m);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void read_work(struct disk_task *task)
{
	struct drillmemory *m = CONTAINER_OF(task, struct drillmemory, task);

	m->r = file_read(m->path, DRILLSTATE_BYTES_MAX, &m->text, &m->len);
}

static void read_done(struct disk_task *task)
{
	struct drillmemory *m = CONTAINER_OF(task, struct drillmemory, task);
	struct drillstate state = {.since_s = 0};

	m->is_busy = false;
	if (m->r == 0)
		m->r = drillstate_parse(m->text, m->len, &state);
	if (m->r < 0 && m->r != -ENOENT)
		(void) log_warning_errno(m->r, "drill_forgotten", "job=%s path=%s", m->job, m->path);
	m->done(&state, m->userdata);
}

/* --- the whole -------------------------------------------------------------------------------- */

int drillmemory_new(struct ev_loop *ev, const char *directory, const char *job,
                    drillmemory_read_fn done, void *userdata, struct drillmemory **ret_memory)
{
	AUTO(drillmemory_free) struct drillmemory *m = NEW0(struct drillmemory);
	int r;

	m->job = job;
	m->path = xasprintf("%s/" DRILLSTATE_FILE, directory);
	m->done = done;
	m->userdata = userdata;
	r = disk_new(ev, &m->disk);
	if (r < 0)
		return r;
	begin(m, read_work, read_done);
	*ret_memory = TAKE_PTR(m);
	return 0;
}

void drillmemory_free(struct drillmemory *m)
{
	if (m == NULL)
		return;
	disk_free(m->disk);
	free(m->path);
	free(m->text);
	free(m->next);
	free(m);
}
