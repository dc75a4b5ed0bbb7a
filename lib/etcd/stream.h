/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One long-lived stream with messages both ways, on one channel. Says when it has ended and does
 * nothing about it: watch.c reconnects.
 */

#include <stdbool.h>
#include <stddef.h>

#include "etcd/channel.h"
#include "etcd/queue.h"
#include "etcd/rpc.h"

struct stream;

struct stream_callbacks {
	/* Borrowed until it returns. */
	void (*message)(const void *data, size_t len, void *userdata);
	/* Over, for whatever reason, after the last message. The stream is gone when it returns. */
	void (*ended)(grpc_status_code code, const char *text, void *userdata);
};

/* Sends the first message along with the metadata. callbacks are borrowed. */
struct stream *stream_open(struct channel *channel, struct queue *queue, const char *method,
                           const struct rpc_metadata *metadata, grpc_slice first,
                           const struct stream_callbacks *callbacks, void *userdata);

/* False, and nothing sent, while the message before has not left yet. */
bool stream_send(struct stream *stream, grpc_slice message);

/* Cancels; no callback runs any more. NULL is fine. */
void stream_close(struct stream *stream);
