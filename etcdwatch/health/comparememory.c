/* SPDX-License-Identifier: Apache-2.0 */
/* One task at a time: what is to be written while one is under way waits, and replaces what waits
 * already. */
#include "etcdwatch/health/comparememory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fileio.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/work/disk.h"

#define LINE_MAX_BYTES 32
#define TEXT_BYTES_MAX (LINE_MAX_BYTES * (VIEW_MEMBERS_MAX + 1))

struct comparememory {
	struct disk *disk;
	char *path;
	comparememory_read_fn done;
	void *userdata;

	struct disk_task task;
	bool is_busy;
	char *text; /* the task's; then what the file has */
	size_t len;
	int r;
	char *next; /* to be written behind it; NULL: nothing */
};

static void begin(struct comparememory *m, void (*work)(struct disk_task *task),
                  void (*done)(struct disk_task *task))
{
	m->task = (struct disk_task){.work = work, .done = done};
	m->is_busy = true;
	disk_do(m->disk, &m->task);
}

/* --- text --------------------------------------------------------------------------------------
 */

static char *print(const struct hashes_memory *known)
{
	char *text = xcalloc(TEXT_BYTES_MAX + 1, 1);
	size_t len = 0;

	for (size_t i = 0; i < known->n; i++) {
		if (known->items[i].n_differs > 0)
			len += (size_t) snprintf(text + len, LINE_MAX_BYTES, "%016" PRIx64 " %u\n",
			                         known->items[i].id, known->items[i].n_differs);
	}
	return text;
}

static int parse(const char *text, struct hashes_memory *ret)
{
	struct hashes_memory known = {0};

	while (*text != '\0') {
		struct hashes_known item = {0};
		int len = 0;

		if (known.n == ARRAY_SIZE(known.items) ||
		    sscanf(text, "%16" SCNx64 " %9u%n", &item.id, &item.n_differs, &len) != 2 ||
		    item.n_differs == 0 || text[len] != '\n')
			return -EINVAL;
		known.items[known.n++] = item;
		text += len + 1;
	}
	*ret = known;
	return 0;
}

/* --- writing -----------------------------------------------------------------------------------
 */

static void write_work(struct disk_task *task)
{
	struct comparememory *m = CONTAINER_OF(task, struct comparememory, task);

	m->r = file_write_atomic(m->path, m->text, strlen(m->text), 0600, FILE_DURABLE);
}

static void write_next(struct comparememory *m);

static void write_done(struct disk_task *task)
{
	struct comparememory *m = CONTAINER_OF(task, struct comparememory, task);

	m->is_busy = false;
	if (m->r < 0)
		(void) log_warning_errno(m->r, "comparison_not_remembered", "path=%s", m->path);
	write_next(m);
}

static void write_next(struct comparememory *m)
{
	if (m->is_busy || m->next == NULL)
		return;
	if (m->r == 0 && m->text != NULL && strcmp(m->text, m->next) == 0) {
		free(TAKE_PTR(m->next));
		return;
	}
	free(m->text);
	m->text = TAKE_PTR(m->next);
	begin(m, write_work, write_done);
}

void comparememory_write(struct comparememory *m, const struct hashes_memory *known)
{
	free(m->next);
	m->next = print(known);
	write_next(m);
}

/* --- reading -----------------------------------------------------------------------------------
 */

static void read_work(struct disk_task *task)
{
	struct comparememory *m = CONTAINER_OF(task, struct comparememory, task);

	m->r = file_read(m->path, TEXT_BYTES_MAX, &m->text, &m->len);
	if (m->r == -ENOENT) {
		m->text = xstrdup("");
		m->r = 0;
	}
}

static void read_done(struct disk_task *task)
{
	struct comparememory *m = CONTAINER_OF(task, struct comparememory, task);
	struct hashes_memory known = {0};

	m->is_busy = false;
	if (m->r == 0)
		m->r = parse(m->text, &known);
	if (m->r < 0)
		(void) log_warning_errno(m->r, "comparison_forgotten", "path=%s", m->path);
	write_next(m);
	m->done(&known, m->userdata);
}

/* --- the whole ---------------------------------------------------------------------------------
 */

int comparememory_new(struct ev_loop *ev, const char *directory, comparememory_read_fn done,
                      void *userdata, struct comparememory **ret_memory)
{
	AUTO(comparememory_free) struct comparememory *m = NEW0(struct comparememory);
	int r;

	m->path = xasprintf("%s/" COMPAREMEMORY_FILE, directory);
	m->done = done;
	m->userdata = userdata;
	r = disk_new(ev, &m->disk);
	if (r < 0)
		return r;
	begin(m, read_work, read_done);
	*ret_memory = TAKE_PTR(m);
	return 0;
}

void comparememory_free(struct comparememory *m)
{
	if (m == NULL)
		return;
	disk_free(m->disk);
	free(m->path);
	free(m->text);
	free(m->next);
	free(m);
}
