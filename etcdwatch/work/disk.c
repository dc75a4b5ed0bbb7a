/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two queues under one lock: what is to be done, for the thread, and what has been done, for the
 * loop, which an ev_async tells.
 */
#include "etcdwatch/work/disk.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

STAILQ_HEAD(tasks, disk_task);

struct disk {
	struct ev_loop *ev;
	pthread_t thread;
	ev_async wake;

	pthread_mutex_t lock;
	pthread_cond_t more;
	struct tasks todo;
	struct tasks over;
	int64_t began_us; /* the task under way; 0: there is none */
	bool ends;
};

static void *run(void *userdata)
{
	struct disk *d = userdata;

	(void) pthread_mutex_lock(&d->lock);
	for (;;) {
		struct disk_task *task;

		while (STAILQ_EMPTY(&d->todo) && !d->ends)
			(void) pthread_cond_wait(&d->more, &d->lock);
		if (d->ends)
			break;
		task = STAILQ_FIRST(&d->todo);
		STAILQ_REMOVE_HEAD(&d->todo, entry);
		d->began_us = mono_now_us();
		(void) pthread_mutex_unlock(&d->lock);
		task->work(task);
		(void) pthread_mutex_lock(&d->lock);
		d->began_us = 0;
		STAILQ_INSERT_TAIL(&d->over, task, entry);
		ev_async_send(d->ev, &d->wake);
	}
	(void) pthread_mutex_unlock(&d->lock);
	return NULL;
}

static struct disk_task *take_done(struct disk *d)
{
	struct disk_task *task;

	(void) pthread_mutex_lock(&d->lock);
	task = STAILQ_FIRST(&d->over);
	if (task != NULL)
		STAILQ_REMOVE_HEAD(&d->over, entry);
	(void) pthread_mutex_unlock(&d->lock);
	return task;
}

static void wake_cb(struct ev_loop *ev UNUSED, ev_async *w, int revents UNUSED)
{
	struct disk *d = CONTAINER_OF(w, struct disk, wake);
	struct disk_task *task = take_done(d);

	while (task != NULL) {
		task->done(task);
		task = take_done(d);
	}
}

void disk_do(struct disk *d, struct disk_task *task)
{
	(void) pthread_mutex_lock(&d->lock);
	STAILQ_INSERT_TAIL(&d->todo, task, entry);
	(void) pthread_cond_signal(&d->more);
	(void) pthread_mutex_unlock(&d->lock);
}

int64_t disk_busy_us(struct disk *d)
{
	int64_t began_us;

	(void) pthread_mutex_lock(&d->lock);
	began_us = d->began_us;
	(void) pthread_mutex_unlock(&d->lock);
	return began_us != 0 ? mono_now_us() - began_us : 0;
}

static int start_thread(struct disk *d)
{
	sigset_t all, before;
	int error;

	/* Every signal is the loop's. */
	(void) sigfillset(&all);
	(void) pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&d->thread, NULL, run, d);
	(void) pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error == 0)
		(void) pthread_setname_np(d->thread, "disk");
	return -error;
}

int disk_new(struct ev_loop *ev, struct disk **ret_disk)
{
	struct disk *d = NEW0(struct disk);
	int r;

	d->ev = ev;
	STAILQ_INIT(&d->todo);
	STAILQ_INIT(&d->over);
	(void) pthread_mutex_init(&d->lock, NULL);
	(void) pthread_cond_init(&d->more, NULL);
	ev_async_init(&d->wake, wake_cb);
	ev_async_start(ev, &d->wake);
	r = start_thread(d);
	if (r < 0) {
		ev_async_stop(ev, &d->wake);
		free(d);
		return r;
	}
	*ret_disk = d;
	return 0;
}

void disk_free(struct disk *d)
{
	if (d == NULL)
		return;
	(void) pthread_mutex_lock(&d->lock);
	d->ends = true;
	(void) pthread_cond_signal(&d->more);
	(void) pthread_mutex_unlock(&d->lock);
	(void) pthread_join(d->thread, NULL);
	ev_async_stop(d->ev, &d->wake);
	(void) pthread_cond_destroy(&d->more);
	(void) pthread_mutex_destroy(&d->lock);
	free(d);
}
