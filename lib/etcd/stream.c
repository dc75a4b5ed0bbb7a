/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three tags a stream: sending, receiving, status. The status may arrive before the last receive
 * has come back empty, so the end is told when both are in. Memory goes when no tag is out any
 * more.
 */
#include "etcd/stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"

#define STATUS_TEXT_MAX 256

struct stream {
	struct queue *queue;
	struct channel *channel;
	grpc_call *call;
	struct queue_tag send_tag;
	struct queue_tag receive_tag;
	struct queue_tag status_tag;
	bool sending;
	bool receiving;
	bool status_out; /* not known yet */
	grpc_metadata metadata[RPC_METADATA_MAX];
	size_t n_metadata;
	grpc_byte_buffer *outgoing;
	grpc_byte_buffer *incoming;
	grpc_metadata_array initial;
	grpc_metadata_array trailing;
	grpc_status_code code;
	grpc_slice details;
	const struct stream_callbacks *callbacks; /* NULL: closed */
	void *userdata;
};

static void free_if_idle(struct stream *stream)
{
	if (stream->sending || stream->receiving || stream->status_out)
		return;
	rpc_metadata_release(stream->metadata, stream->n_metadata);
	grpc_byte_buffer_destroy(stream->outgoing);
	grpc_byte_buffer_destroy(stream->incoming);
	grpc_metadata_array_destroy(&stream->initial);
	grpc_metadata_array_destroy(&stream->trailing);
	grpc_slice_unref(stream->details);
	grpc_call_unref(stream->call);
	channel_unref(stream->channel);
	free(stream);
}

static void end_if_over(struct stream *stream)
{
	const struct stream_callbacks *callbacks = stream->callbacks;
	void *userdata = stream->userdata;
	grpc_status_code code = stream->code;
	char text[STATUS_TEXT_MAX];

	if (callbacks == NULL || stream->receiving || stream->status_out) {
		free_if_idle(stream);
		return;
	}
	rpc_copy_text(stream->details, text, sizeof(text));
	stream->callbacks = NULL;
	free_if_idle(stream);
	callbacks->ended(code, text, userdata);
}

static void receive(struct stream *stream, bool first)
{
	grpc_op ops[2];
	size_t n = 0;

	memset(ops, 0, sizeof(ops));
	if (first) {
		ops[n].op = GRPC_OP_RECV_INITIAL_METADATA;
		ops[n++].data.recv_initial_metadata.recv_initial_metadata = &stream->initial;
	}
	ops[n].op = GRPC_OP_RECV_MESSAGE;
	ops[n++].data.recv_message.recv_message = &stream->incoming;
	stream->receiving = true;
	queue_start(stream->queue, stream->call, ops, n, &stream->receive_tag);
}

static void on_received(struct queue_tag *tag, bool ok)
{
	struct stream *stream = CONTAINER_OF(tag, struct stream, receive_tag);
	grpc_byte_buffer *buffer = TAKE_PTR(stream->incoming);
	grpc_slice bytes;

	stream->receiving = false;
	if (!ok || buffer == NULL || stream->callbacks == NULL) {
		if (buffer != NULL)
			grpc_byte_buffer_destroy(buffer);
		end_if_over(stream);
		return;
	}
	/* Before the callback, which may close the stream. */
	receive(stream, false);
	if (rpc_read_buffer(buffer, &bytes)) {
		stream->callbacks->message(GRPC_SLICE_START_PTR(bytes), GRPC_SLICE_LENGTH(bytes),
		                           stream->userdata);
		grpc_slice_unref(bytes);
	}
	grpc_byte_buffer_destroy(buffer);
}

static void on_sent(struct queue_tag *tag, bool ok UNUSED)
{
	struct stream *stream = CONTAINER_OF(tag, struct stream, send_tag);

	stream->sending = false;
	grpc_byte_buffer_destroy(stream->outgoing);
	stream->outgoing = NULL;
	free_if_idle(stream);
}

static void on_status(struct queue_tag *tag, bool ok UNUSED)
{
	struct stream *stream = CONTAINER_OF(tag, struct stream, status_tag);

	stream->status_out = false;
	end_if_over(stream);
}

static void send_message(struct stream *stream, grpc_slice message, bool first)
{
	grpc_op ops[2];
	size_t n = 0;

	memset(ops, 0, sizeof(ops));
	stream->outgoing = grpc_raw_byte_buffer_create(&message, 1);
	if (first) {
		ops[n].op = GRPC_OP_SEND_INITIAL_METADATA;
		ops[n].data.send_initial_metadata.count = stream->n_metadata;
		ops[n++].data.send_initial_metadata.metadata = stream->metadata;
	}
	ops[n].op = GRPC_OP_SEND_MESSAGE;
	ops[n++].data.send_message.send_message = stream->outgoing;
	stream->sending = true;
	queue_start(stream->queue, stream->call, ops, n, &stream->send_tag);
}

static void await_status(struct stream *stream)
{
	grpc_op op;

	memset(&op, 0, sizeof(op));
	op.op = GRPC_OP_RECV_STATUS_ON_CLIENT;
	op.data.recv_status_on_client.trailing_metadata = &stream->trailing;
	op.data.recv_status_on_client.status = &stream->code;
	op.data.recv_status_on_client.status_details = &stream->details;
	stream->status_out = true;
	queue_start(stream->queue, stream->call, &op, 1, &stream->status_tag);
}

struct stream *stream_open(struct channel *channel, struct queue *queue, const char *method,
                           const struct rpc_metadata *metadata, grpc_slice first,
                           const struct stream_callbacks *callbacks, void *userdata)
{
	struct stream *stream = NEW0(struct stream);

	stream->queue = queue;
	stream->channel = channel_ref(channel);
	stream->call = rpc_create_call(channel, queue, method, 0);
	stream->send_tag.fn = on_sent;
	stream->receive_tag.fn = on_received;
	stream->status_tag.fn = on_status;
	stream->n_metadata = rpc_metadata_fill(metadata, stream->metadata);
	stream->details = grpc_empty_slice();
	grpc_metadata_array_init(&stream->initial);
	grpc_metadata_array_init(&stream->trailing);
	stream->callbacks = callbacks;
	stream->userdata = userdata;
	send_message(stream, first, true);
	receive(stream, true);
	await_status(stream);
	return stream;
}

bool stream_send(struct stream *stream, grpc_slice message)
{
	if (stream->sending)
		return false;
	send_message(stream, message, false);
	return true;
}

void stream_close(struct stream *stream)
{
	if (stream == NULL)
		return;
	stream->callbacks = NULL;
	(void) grpc_call_cancel(stream->call, NULL);
	free_if_idle(stream);
}
