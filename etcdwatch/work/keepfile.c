/* SPDX-License-Identifier: Apache-2.0 */
/* One task at a time: reading, and then what is to be written. */
#include "etcdwatch/work/keepfile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/work/disk.h"

struct keepfile {
	struct disk *disk;
	char *path;
	size_t bytes_max;
	const struct keepfile_callbacks *callbacks;
	void *userdata;

	struct disk_task task;
	bool is_busy;
	char *text; /* the task's; then what the file has */
	size_t len;
	int r;
	char *next; /* to be written behind it; NULL: nothing */
};

static void begin(struct keepfile *f, void (*work)(struct disk_task *task),
                  void (*done)(struct disk_task *task))
{
	f->task = (struct disk_task){.work = work, .done = done};
	f->is_busy = true;
	disk_do(f->disk, &f->task);
}

/* --- writing --- */

static void write_work(struct disk_task *task)
{
	struct keepfile *f = CONTAINER_OF(task, struct keepfile, task);

	f->r = file_write_atomic(f->path, f->text, strlen(f->text), 0600, FILE_DURABLE);
}

static void write_next(struct keepfile *f);

static void write_done(struct disk_task *task)
{
	struct keepfile *f = CONTAINER_OF(task, struct keepfile, task);

	f->is_busy = false;
	if (f->r < 0)
		f->callbacks->failed(f->r, f->userdata);
	write_next(f);
}

static void write_next(struct keepfile *f)
{
	if (f->is_busy || f->next == NULL)
		return;
	if (f->r == 0 && f->text != NULL && strcmp(f->text, f->next) == 0) {
		free(TAKE_PTR(f->next));
		return;
	}
	free(f->text);
	f->text = TAKE_PTR(f->next);
	begin(f, write_work, write_done);
}

void keepfile_write(struct keepfile *f, char *text)
{
	free(f->next);
	f->next = text;
	write_next(f);
}

/* --- reading --- */

static void read_work(struct disk_task *task)
{
	struct keepfile *f = CONTAINER_OF(task, struct keepfile, task);

	f->r = file_read(f->path, f->bytes_max, &f->text, &f->len);
}

static void read_done(struct disk_task *task)
{
	struct keepfile *f = CONTAINER_OF(task, struct keepfile, task);
	int r = f->r;

	f->is_busy = false;
	/* No file is as good as an empty one. */
	if (r == -ENOENT) {
		f->text = xstrdup("");
		f->len = 0;
		f->r = 0;
	}
	f->callbacks->read(r, f->text, f->len, f->userdata);
	write_next(f);
}

/* --- the whole --- */

int keepfile_new(struct ev_loop *ev, const char *path, size_t bytes_max,
                 const struct keepfile_callbacks *callbacks, void *userdata,
                 struct keepfile **ret_file)
{
	AUTO(keepfile_free) struct keepfile *f = NEW0(struct keepfile);
	int r;

	f->path = xstrdup(path);
	f->bytes_max = bytes_max;
	f->callbacks = callbacks;
	f->userdata = userdata;
	r = disk_new(ev, &f->disk);
	if (r < 0)
		return r;
	begin(f, read_work, read_done);
	*ret_file = TAKE_PTR(f);
	return 0;
}

void keepfile_free(struct keepfile *f)
{
	if (f == NULL)
		return;
	disk_free(f->disk);
	free(f->path);
	free(f->text);
	free(f->next);
	free(f);
}
