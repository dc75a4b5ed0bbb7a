/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three tags a stream: sending, receiving, status. The status may arrive before the last receive
 * has come back empty, so a good end is told when both are in. Memory goes when no tag is out any
 * more.
 *
 * On demand, messages are received ahead of the user, as many as there is room for: the queue's
 * thread puts each into a ring and asks for the next by itself. So a stream of many small messages
 * costs neither side a wait for the other. The loop is woken, by a tag of its own, when it wants
 * messages and the ring is half full; it takes all that are there, and looks by itself now and then
 * for the few that are too few to be woken for. What the thread touches is guarded by a lock; the
 * tag for receiving stays out meanwhile, and reaches the loop when the ring is full or nothing
 * comes any more.
 */
#include "etcd/stream.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"

#define STATUS_TEXT_MAX 256
#define AHEAD_MAX 16
#define AHEAD_BYTES_MAX ((size_t) 512 << 10)
#define WAKE_AT (AHEAD_MAX / 2)
#define LOOK_S 0.02
/* So many, and the loop may turn to others. */
#define DELIVER_MAX 16

struct stream {
	struct queue *queue;
	struct channel *channel;
	enum stream_mode mode;
	grpc_call *call;
	struct queue_tag send_tag;
	struct queue_tag receive_tag;
	struct queue_tag status_tag;
	bool sending;
	bool receiving;
	bool status_out; /* not known yet */
	bool empty;      /* a receive has come back without a message */
	bool delivering; /* messages: the user is being called */
	grpc_metadata metadata[RPC_METADATA_MAX];
	size_t n_metadata;
	grpc_byte_buffer *outgoing;
	grpc_byte_buffer *incoming; /* belongs to the tag while that is out */
	struct queue_tag ready_tag;
	ev_timer look; /* on demand */
	pthread_mutex_t lock;
	/* Guarded by lock: what came and was not asked for yet, and one more behind a full ring. */
	grpc_byte_buffer *ahead[AHEAD_MAX + 1];
	unsigned first_ahead;
	unsigned n_ahead;
	size_t ahead_bytes;
	bool wanted; /* the user waits for a message, or the end */
	bool posted; /* ready_tag: the loop will look */
	grpc_metadata_array initial;
	grpc_metadata_array trailing;
	grpc_status_code code;
	grpc_slice details;
	const struct stream_callbacks *callbacks; /* NULL: closed */
	void *userdata;
};

static void free_if_idle(struct stream *stream)
{
	if (stream->callbacks != NULL || stream->delivering)
		return;
	if (stream->sending || stream->receiving || stream->status_out || stream->posted)
		return;
	for (; stream->n_ahead > 0; stream->n_ahead--)
		grpc_byte_buffer_destroy(stream->ahead[stream->first_ahead++ % ARRAY_SIZE(stream->ahead)]);
	(void) pthread_mutex_destroy(&stream->lock);
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

static void leave_user(struct stream *stream)
{
	stream->callbacks = NULL;
	ev_timer_stop(queue_loop(stream->queue), &stream->look);
}

/* A good end comes behind all messages, and on demand when it is asked for. */
static bool is_over(const struct stream *stream)
{
	if (stream->receiving || stream->status_out)
		return false;
	return stream->code != GRPC_STATUS_OK ||
	       (stream->empty && stream->n_ahead == 0 && stream->wanted);
}

static void end_if_over(struct stream *stream)
{
	const struct stream_callbacks *callbacks = stream->callbacks;
	void *userdata = stream->userdata;
	grpc_status_code code = stream->code;
	char text[STATUS_TEXT_MAX];

	if (callbacks == NULL || stream->delivering || !is_over(stream)) {
		free_if_idle(stream);
		return;
	}
	rpc_copy_text(stream->details, text, sizeof(text));
	leave_user(stream);
	free_if_idle(stream);
	callbacks->ended(code, text, userdata);
}

/* --- receiving ----------------------------------------------------------------------------------
 */

static grpc_op receive_op(struct stream *stream)
{
	grpc_op op;

	memset(&op, 0, sizeof(op));
	op.op = GRPC_OP_RECV_MESSAGE;
	op.data.recv_message.recv_message = &stream->incoming;
	return op;
}

static void receive(struct stream *stream, bool first)
{
	grpc_op ops[2] = {receive_op(stream)};

	if (first) {
		memset(&ops[1], 0, sizeof(ops[1]));
		ops[1].op = GRPC_OP_RECV_INITIAL_METADATA;
		ops[1].data.recv_initial_metadata.recv_initial_metadata = &stream->initial;
	}
	stream->receiving = true;
	queue_start(stream->queue, stream->call, ops, first ? 2 : 1, &stream->receive_tag);
}

/* With the lock held. */
static void keep(struct stream *stream, grpc_byte_buffer *buffer)
{
	unsigned at = stream->first_ahead + stream->n_ahead++;

	stream->ahead[at % ARRAY_SIZE(stream->ahead)] = buffer;
	stream->ahead_bytes += grpc_byte_buffer_length(buffer);
}

/* With the lock held. */
static grpc_byte_buffer *take_first(struct stream *stream)
{
	grpc_byte_buffer *buffer = stream->ahead[stream->first_ahead++ % ARRAY_SIZE(stream->ahead)];

	stream->n_ahead--;
	stream->ahead_bytes -= grpc_byte_buffer_length(buffer);
	return buffer;
}

/* On the queue's thread. */
static bool take_ahead(struct queue_tag *tag, bool ok)
{
	struct stream *stream = CONTAINER_OF(tag, struct stream, receive_tag);
	bool goes_on, post = false;
	grpc_op op;

	(void) pthread_mutex_lock(&stream->lock);
	goes_on = ok && stream->incoming != NULL && stream->n_ahead < AHEAD_MAX &&
	          stream->ahead_bytes < AHEAD_BYTES_MAX;
	if (goes_on) {
		keep(stream, TAKE_PTR(stream->incoming));
		post = stream->wanted && !stream->posted && stream->n_ahead >= WAKE_AT;
		stream->posted = stream->posted || post;
	}
	(void) pthread_mutex_unlock(&stream->lock);
	if (!goes_on)
		return true;
	op = receive_op(stream);
	queue_restart(stream->call, &op, 1, tag);
	if (post)
		queue_post(stream->queue, &stream->ready_tag);
	return false;
}

/* The next message if the user wants one; NULL. */
static grpc_byte_buffer *next_wanted(struct stream *stream)
{
	grpc_byte_buffer *buffer = NULL;

	(void) pthread_mutex_lock(&stream->lock);
	if (stream->wanted && stream->n_ahead > 0) {
		buffer = take_first(stream);
		stream->wanted = stream->mode == STREAM_BOTH_WAYS;
	}
	(void) pthread_mutex_unlock(&stream->lock);
	if (buffer != NULL && !stream->receiving && !stream->empty)
		receive(stream, false);
	return buffer;
}

static void post_ready(struct stream *stream)
{
	bool post;

	(void) pthread_mutex_lock(&stream->lock);
	post = !stream->posted;
	stream->posted = true;
	(void) pthread_mutex_unlock(&stream->lock);
	if (post)
		queue_post(stream->queue, &stream->ready_tag);
}

static void deliver(struct stream *stream)
{
	unsigned n;

	stream->delivering = true;
	for (n = 0; n < DELIVER_MAX && stream->callbacks != NULL; n++) {
		grpc_byte_buffer *buffer = next_wanted(stream);
		grpc_slice bytes;

		if (buffer == NULL)
			break;
		if (rpc_read_buffer(buffer, &bytes)) {
			stream->callbacks->message(GRPC_SLICE_START_PTR(bytes), GRPC_SLICE_LENGTH(bytes),
			                           stream->userdata);
			grpc_slice_unref(bytes);
		}
		grpc_byte_buffer_destroy(buffer);
	}
	stream->delivering = false;
	if (n == DELIVER_MAX)
		post_ready(stream);
	end_if_over(stream);
}

static void on_ready(struct queue_tag *tag, bool ok UNUSED)
{
	struct stream *stream = CONTAINER_OF(tag, struct stream, ready_tag);

	(void) pthread_mutex_lock(&stream->lock);
	stream->posted = false;
	(void) pthread_mutex_unlock(&stream->lock);
	deliver(stream);
}

static void look_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	deliver(CONTAINER_OF(w, struct stream, look));
}

static void on_received(struct queue_tag *tag, bool ok)
{
	struct stream *stream = CONTAINER_OF(tag, struct stream, receive_tag);

	stream->receiving = false;
	stream->empty = !ok || stream->incoming == NULL;
	if (!stream->empty) {
		(void) pthread_mutex_lock(&stream->lock);
		keep(stream, TAKE_PTR(stream->incoming));
		(void) pthread_mutex_unlock(&stream->lock);
	}
	deliver(stream);
}

/* --- the rest -----------------------------------------------------------------------------------
 */

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
	grpc_op ops[3];
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
	if (stream->mode == STREAM_ON_DEMAND)
		ops[n++].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
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

struct stream *stream_open(struct channel *channel, struct queue *queue, enum stream_mode mode,
                           const char *method, const struct rpc_metadata *metadata,
                           grpc_slice first, const struct stream_callbacks *callbacks,
                           void *userdata)
{
	struct stream *stream = NEW0(struct stream);

	stream->queue = queue;
	stream->channel = channel_ref(channel);
	stream->mode = mode;
	stream->call = rpc_create_call(channel, queue, method, 0);
	stream->send_tag.fn = on_sent;
	stream->receive_tag.fn = on_received;
	stream->ready_tag.fn = on_ready;
	ev_timer_init(&stream->look, look_cb, LOOK_S, LOOK_S);
	if (mode == STREAM_ON_DEMAND) {
		stream->receive_tag.on_thread = take_ahead;
		ev_timer_start(queue_loop(queue), &stream->look);
	}
	(void) pthread_mutex_init(&stream->lock, NULL);
	stream->wanted = true;
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

void stream_receive(struct stream *stream)
{
	bool there;

	assert(stream->mode == STREAM_ON_DEMAND && stream->callbacks != NULL);
	(void) pthread_mutex_lock(&stream->lock);
	stream->wanted = true;
	there = stream->n_ahead > 0;
	(void) pthread_mutex_unlock(&stream->lock);
	if (!stream->delivering && (there || is_over(stream)))
		post_ready(stream);
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
	leave_user(stream);
	(void) grpc_call_cancel(stream->call, NULL);
	free_if_idle(stream);
}
