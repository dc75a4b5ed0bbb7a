/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * gRPC's completion queue, brought to the loop. One thread waits in the queue and does little but
 * stamp each finished tag and pass it on; the handlers run on the loop. A tag is embedded in what
 * waits for it, which must stay until the handler has run: exactly once for each start.
 */

#include <ev.h>
#include <grpc/grpc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/cleanup.h"

struct queue;

struct queue_tag {
	/* ok is false when the batch could not be carried out, as gRPC defines it for each operation.
	 */
	void (*fn)(struct queue_tag *tag, bool ok);
	int64_t finished_us; /* when the thread saw it */
	bool ok;
	STAILQ_ENTRY(queue_tag) entry;
};

/* Starts the thread, with all signals blocked in it. 0 or -errno. grpc_init() must have been
 * called. */
int queue_new(struct ev_loop *ev, struct queue **ret_queue);

/* Joins the thread. Nothing may be pending: see queue_drain(). */
void queue_free(struct queue *queue);
DEFINE_AUTO(struct queue, queue_free);

/* Borrowed; for creating calls. */
grpc_completion_queue *queue_cq(struct queue *queue);

/* grpc_call_start_batch() with the tag; aborts if the batch is malformed. */
void queue_start(struct queue *queue, grpc_call *call, const grpc_op *ops, size_t n_ops,
                 struct queue_tag *tag);

/* For a tag that is about to be given to gRPC in any other way. */
void queue_expect(struct queue *queue, struct queue_tag *tag);

/* Blocks until every tag that was started has been handled: once all calls are cancelled, that is
 * less than a millisecond. */
void queue_drain(struct queue *queue);
