/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only thread of the client, and the one place where it meets the loop: a locked list and an
 * ev_async. The thread exists because gRPC's callback queues make no progress without a poller of
 * their own. It touches a tag only between the completion and the list; everything else in
 * lib/etcd belongs to the loop and needs no lock.
 */
#include "etcd/queue.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

/* gRPC is not built for ThreadSanitizer, which therefore cannot see that a batch happens before its
 * completion; these two tell it so. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define QUEUE_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define QUEUE_TSAN 1
#endif
#ifdef QUEUE_TSAN
#include <sanitizer/tsan_interface.h>
#define TAG_RELEASE(tag) __tsan_release(tag)
#define TAG_ACQUIRE(tag) __tsan_acquire(tag)
#else
#define TAG_RELEASE(tag) ((void) (tag))
#define TAG_ACQUIRE(tag) ((void) (tag))
#endif

STAILQ_HEAD(tag_list, queue_tag);

struct queue {
	struct ev_loop *ev;
	ev_async wakeup;
	grpc_completion_queue *cq;
	pthread_t thread;
	bool thread_runs;
	size_t n_pending; /* started and not yet handled; loop thread only */

	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct tag_list finished; /* guarded by lock */
};

static void *queue_thread(void *userdata)
{
	struct queue *queue = userdata;

	for (;;) {
		grpc_event event =
		    grpc_completion_queue_next(queue->cq, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
		struct queue_tag *tag = event.tag;

		if (event.type == GRPC_QUEUE_SHUTDOWN)
			return NULL;
		if (event.type != GRPC_OP_COMPLETE)
			continue;
		TAG_ACQUIRE(tag);
		tag->finished_us = mono_now_us();
		tag->ok = event.success != 0;
		(void) pthread_mutex_lock(&queue->lock);
		STAILQ_INSERT_TAIL(&queue->finished, tag, entry);
		(void) pthread_cond_signal(&queue->filled);
		(void) pthread_mutex_unlock(&queue->lock);
		ev_async_send(queue->ev, &queue->wakeup);
	}
}

static struct tag_list take_finished(struct queue *queue, bool wait)
{
	struct tag_list list = STAILQ_HEAD_INITIALIZER(list);

	(void) pthread_mutex_lock(&queue->lock);
	while (wait && STAILQ_EMPTY(&queue->finished))
		(void) pthread_cond_wait(&queue->filled, &queue->lock);
	STAILQ_CONCAT(&list, &queue->finished);
	(void) pthread_mutex_unlock(&queue->lock);
	return list;
}

static void handle(struct queue *queue, struct tag_list list)
{
	/* The head was copied: an empty list's tail pointer still points into the original. */
	struct queue_tag *tag = STAILQ_FIRST(&list);

	while (tag != NULL) {
		struct queue_tag *next = STAILQ_NEXT(tag, entry);

		queue->n_pending--;
		tag->fn(tag, tag->ok);
		tag = next;
	}
}

static void wakeup_cb(struct ev_loop *ev UNUSED, ev_async *w, int revents UNUSED)
{
	struct queue *queue = CONTAINER_OF(w, struct queue, wakeup);

	handle(queue, take_finished(queue, false));
}

int queue_new(struct ev_loop *ev, struct queue **ret_queue)
{
	AUTO(queue_free) struct queue *queue = NEW0(struct queue);
	sigset_t all;
	sigset_t before;
	int r;

	queue->ev = ev;
	STAILQ_INIT(&queue->finished);
	(void) pthread_mutex_init(&queue->lock, NULL);
	(void) pthread_cond_init(&queue->filled, NULL);
	ev_async_init(&queue->wakeup, wakeup_cb);
	ev_async_start(ev, &queue->wakeup);
	queue->cq = grpc_completion_queue_create_for_next(NULL);

	(void) sigfillset(&all);
	(void) pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&queue->thread, NULL, queue_thread, queue);
	(void) pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r != 0)
		return -r;
	queue->thread_runs = true;
	(void) pthread_setname_np(queue->thread, "etcd-queue");
	*ret_queue = TAKE_PTR(queue);
	return 0;
}

void queue_free(struct queue *queue)
{
	if (queue == NULL)
		return;
	assert(queue->n_pending == 0);
	grpc_completion_queue_shutdown(queue->cq);
	if (queue->thread_runs)
		(void) pthread_join(queue->thread, NULL);
	grpc_completion_queue_destroy(queue->cq);
	ev_async_stop(queue->ev, &queue->wakeup);
	(void) pthread_cond_destroy(&queue->filled);
	(void) pthread_mutex_destroy(&queue->lock);
	free(queue);
}

grpc_completion_queue *queue_cq(struct queue *queue)
{
	return queue->cq;
}

void queue_expect(struct queue *queue, struct queue_tag *tag)
{
	queue->n_pending++;
	TAG_RELEASE(tag);
}

void queue_start(struct queue *queue, grpc_call *call, const grpc_op *ops, size_t n_ops,
                 struct queue_tag *tag)
{
	grpc_call_error e;

	queue_expect(queue, tag);
	e = grpc_call_start_batch(call, ops, n_ops, tag, NULL);
	assert(e == GRPC_CALL_OK);
}

void queue_drain(struct queue *queue)
{
	while (queue->n_pending > 0)
		handle(queue, take_finished(queue, true));
}
