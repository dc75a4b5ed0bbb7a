/* SPDX-License-Identifier: Apache-2.0 */
#include "etcdwatch/drill/drillmemory.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "etcdwatch/work/keepfile.h"

struct drillmemory {
	struct keepfile *file;
	const char *job;
	char *path;
	drillmemory_read_fn done;
	void *userdata;
};

static void read_cb(int r, const char *text, size_t len, void *userdata)
{
	struct drillmemory *m = userdata;
	struct drillstate state = {.since_s = 0};

	if (r == 0)
		r = drillstate_parse(text, len, &state);
	if (r < 0 && r != -ENOENT)
		(void) log_warning_errno(r, "drill_forgotten", "job=%s path=%s", m->job, m->path);
	m->done(&state, m->userdata);
}

static void failed_cb(int r, void *userdata)
{
	const struct drillmemory *m = userdata;

	(void) log_warning_errno(r, "drill_not_remembered", "job=%s path=%s", m->job, m->path);
}

void drillmemory_write(struct drillmemory *m, const struct drillstate *state)
{
	keepfile_write(m->file, drillstate_print(state));
}

int drillmemory_new(struct ev_loop *ev, const char *directory, const char *job,
                    drillmemory_read_fn done, void *userdata, struct drillmemory **ret_memory)
{
	static const struct keepfile_callbacks callbacks = {.read = read_cb, .failed = failed_cb};
	AUTO(drillmemory_free) struct drillmemory *m = NEW0(struct drillmemory);
	int r;

	m->job = job;
	m->path = xasprintf("%s/" DRILLSTATE_FILE, directory);
	m->done = done;
	m->userdata = userdata;
	r = keepfile_new(ev, m->path, DRILLSTATE_BYTES_MAX, &callbacks, m, &m->file);
	if (r < 0)
		return r;
	*ret_memory = TAKE_PTR(m);
	return 0;
}

void drillmemory_free(struct drillmemory *m)
{
	if (m == NULL)
		return;
	keepfile_free(m->file);
	free(m->path);
	free(m);
}
