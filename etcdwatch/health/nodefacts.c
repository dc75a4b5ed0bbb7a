/* SPDX-License-Identifier: Apache-2.0 */
/* One task for the thread, which has a copy of the answer to itself until it is done. */
#include "etcdwatch/health/nodefacts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/work/disk.h"
#include "web/certificate.h"

struct seen {
	struct observation_file files[OBSERVATION_FILES_MAX];
	size_t n_files;
	bool disk_known;
	int64_t free_bytes, total_bytes;
};

struct nodefacts {
	struct nodefacts_options options;
	struct disk *disk;
	struct disk_task task;
	bool is_looking;
	struct seen next; /* the thread's while it looks */
	struct seen last;
};

static void work(struct disk_task *task)
{
	struct nodefacts *f = CONTAINER_OF(task, struct nodefacts, task);
	struct statvfs st;

	f->next = (struct seen){0};
	for (size_t i = 0; i < f->options.n_certificates; i++) {
		struct observation_file *file = &f->next.files[f->next.n_files];

		if (f->next.n_files == ARRAY_SIZE(f->next.files) ||
		    certificate_file_end(f->options.certificates[i], &file->not_after_s) < 0)
			continue;
		(void) snprintf(file->path, sizeof(file->path), "%s", f->options.certificates[i]);
		f->next.n_files++;
	}
	if (statvfs(f->options.data_directory, &st) == 0) {
		f->next.disk_known = true;
		f->next.free_bytes = (int64_t) (st.f_bavail * st.f_frsize);
		f->next.total_bytes = (int64_t) (st.f_blocks * st.f_frsize);
	}
}

static void done(struct disk_task *task)
{
	struct nodefacts *f = CONTAINER_OF(task, struct nodefacts, task);

	f->is_looking = false;
	f->last = f->next;
}

void nodefacts_look(struct nodefacts *f)
{
	if (f->is_looking)
		return;
	f->is_looking = true;
	disk_do(f->disk, &f->task);
}

void nodefacts_fill(const struct nodefacts *f, struct observation *o)
{
	memcpy(o->files, f->last.files, sizeof(o->files));
	o->n_files = f->last.n_files;
	o->disk_known = f->last.disk_known;
	o->free_bytes = f->last.free_bytes;
	o->total_bytes = f->last.total_bytes;
	(void) snprintf(o->data_directory, sizeof(o->data_directory), "%s", f->options.data_directory);
}

int nodefacts_new(struct ev_loop *ev, const struct nodefacts_options *options,
                  struct nodefacts **ret_facts)
{
	AUTO(nodefacts_free) struct nodefacts *f = NEW0(struct nodefacts);
	int r;

	f->options = *options;
	f->task = (struct disk_task){.work = work, .done = done};
	r = disk_new(ev, &f->disk);
	if (r < 0)
		return r;
	*ret_facts = TAKE_PTR(f);
	return 0;
}

void nodefacts_free(struct nodefacts *f)
{
	if (f == NULL)
		return;
	disk_free(f->disk);
	free(f);
}
