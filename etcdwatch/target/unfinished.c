/* SPDX-License-Identifier: Apache-2.0 */
/* A list of keys, and the same as a JSON array in a file, written whole each time. */
#include "etcdwatch/target/unfinished.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/fileio.h"
#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"

#define FILE_BYTES_MAX (4u << 20)
#define FILE_MODE 0600

struct request {
	struct unfinished *of;
	unfinished_done_fn done; /* or NULL */
	void *userdata;
	struct disk_task task;
	LIST_ENTRY(request) link;
	/* The thread's. */
	char *path;
	char *text; /* to write, or what was read */
	int r;
};

struct unfinished {
	struct disk *disk;
	char *path;
	struct names keys;
	LIST_HEAD(, request) requests;
};

/* --- on the thread --- */

static void write_work(struct disk_task *task)
{
	struct request *q = CONTAINER_OF(task, struct request, task);

	q->r = file_write_atomic(q->path, q->text, strlen(q->text), FILE_MODE, FILE_DURABLE);
}

static void read_work(struct disk_task *task)
{
	struct request *q = CONTAINER_OF(task, struct request, task);
	size_t len;

	q->r = file_read(q->path, FILE_BYTES_MAX, &q->text, &len);
	if (q->r == -ENOENT) {
		q->text = xstrdup("[]");
		q->r = 0;
	}
}

/* --- on the loop --- */

static void request_free(struct request *q)
{
	LIST_REMOVE(q, link);
	free(q->path);
	free(q->text);
	free(q);
}

static void take(struct unfinished *u, const char *key)
{
	if (!names_have(&u->keys, key))
		names_add(&u->keys, xstrdup(key));
}

static int parse(struct unfinished *u, const char *text)
{
	json_t *list = json_loads(text, 0, NULL);
	const json_t *item;
	size_t i;
	int r = json_is_array(list) ? 0 : -EBADMSG;

	json_array_foreach(list, i, item)
	{
		if (json_is_string(item))
			take(u, json_string_value(item));
	}
	json_decref(list);
	return r;
}

static void done_cb(struct disk_task *task)
{
	struct request *q = CONTAINER_OF(task, struct request, task);

	if (task->work == read_work && q->r == 0)
		q->r = parse(q->of, q->text);
	if (q->done != NULL)
		q->done(q->r, q->userdata);
	request_free(q);
}

static void begin(struct unfinished *u, void (*work)(struct disk_task *task), char *text,
                  unfinished_done_fn done, void *userdata)
{
	struct request *q = NEW0(struct request);

	q->of = u;
	q->done = done;
	q->userdata = userdata;
	q->path = xstrdup(u->path);
	q->text = text;
	q->task = (struct disk_task){.work = work, .done = done_cb};
	LIST_INSERT_HEAD(&u->requests, q, link);
	disk_do(u->disk, &q->task);
}

static char *print(const struct unfinished *u)
{
	json_t *list = json_array();
	char *text;

	for (size_t i = 0; i < u->keys.n; i++)
		(void) json_array_append_new(list, jsonval_text(u->keys.items[i]));
	text = json_dumps(list, JSON_INDENT(1));
	json_decref(list);
	return text;
}

void unfinished_read(struct unfinished *u, unfinished_done_fn done, void *userdata)
{
	begin(u, read_work, NULL, done, userdata);
}

void unfinished_add(struct unfinished *u, const struct names *keys, unfinished_done_fn done,
                    void *userdata)
{
	for (size_t i = 0; i < keys->n; i++)
		take(u, keys->items[i]);
	begin(u, write_work, print(u), done, userdata);
}

static bool forget(struct unfinished *u, const char *key)
{
	for (size_t i = 0; i < u->keys.n; i++) {
		if (strcmp(u->keys.items[i], key) == 0) {
			free(u->keys.items[i]);
			u->keys.items[i] = u->keys.items[--u->keys.n];
			return true;
		}
	}
	return false;
}

void unfinished_drop(struct unfinished *u, const struct names *keys)
{
	bool any = false;

	for (size_t i = 0; i < keys->n; i++)
		any = forget(u, keys->items[i]) || any;
	if (any)
		begin(u, write_work, print(u), NULL, NULL);
}

struct unfinished *unfinished_new(struct disk *disk, const char *path)
{
	struct unfinished *u = NEW0(struct unfinished);

	u->disk = disk;
	u->path = xstrdup(path);
	LIST_INIT(&u->requests);
	return u;
}

void unfinished_free(struct unfinished *u)
{
	if (u == NULL)
		return;
	while (!LIST_EMPTY(&u->requests))
		request_free(LIST_FIRST(&u->requests));
	names_fini(&u->keys);
	free(u->path);
	free(u);
}

const struct names *unfinished_keys(const struct unfinished *u)
{
	return &u->keys;
}
