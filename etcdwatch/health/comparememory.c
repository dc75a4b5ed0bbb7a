/* SPDX-License-Identifier: Apache-2.0 */
#include "etcdwatch/health/comparememory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/work/keepfile.h"

#define LINE_MAX_BYTES 32
#define TEXT_BYTES_MAX (LINE_MAX_BYTES * (VIEW_MEMBERS_MAX + 1))

struct comparememory {
	struct keepfile *file;
	char *path;
	comparememory_read_fn done;
	void *userdata;
};

/* --- text --- */

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

/* --- the file --- */

static void read_cb(int r, const char *text, size_t len UNUSED, void *userdata)
{
	struct comparememory *m = userdata;
	struct hashes_memory known = {0};

	if (r == 0)
		r = parse(text, &known);
	if (r < 0 && r != -ENOENT)
		(void) log_warning_errno(r, "comparison_forgotten", "path=%s", m->path);
	m->done(&known, m->userdata);
}

static void failed_cb(int r, void *userdata)
{
	const struct comparememory *m = userdata;

	(void) log_warning_errno(r, "comparison_not_remembered", "path=%s", m->path);
}

void comparememory_write(struct comparememory *m, const struct hashes_memory *known)
{
	keepfile_write(m->file, print(known));
}

int comparememory_new(struct ev_loop *ev, const char *directory, comparememory_read_fn done,
                      void *userdata, struct comparememory **ret_memory)
{
	static const struct keepfile_callbacks callbacks = {.read = read_cb, .failed = failed_cb};
	AUTO(comparememory_free) struct comparememory *m = NEW0(struct comparememory);
	int r;

	m->path = xasprintf("%s/" COMPAREMEMORY_FILE, directory);
	m->done = done;
	m->userdata = userdata;
	r = keepfile_new(ev, m->path, TEXT_BYTES_MAX, &callbacks, m, &m->file);
	if (r < 0)
		return r;
	*ret_memory = TAKE_PTR(m);
	return 0;
}

void comparememory_free(struct comparememory *m)
{
	if (m == NULL)
		return;
	keepfile_free(m->file);
	free(m->path);
	free(m);
}
