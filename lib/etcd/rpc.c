/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns one request into one gRPC batch and one callback. Knows nothing of endpoints, retries or
 * protobuf: call.c decides, this file carries. A cancelled attempt stays in memory until gRPC has
 * given its tag back, and then vanishes without a word.
 */
#include "etcd/rpc.h"

#include <errno.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/support/alloc.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

/*
 * protobuf-c asks its allocator for everything, and takes a NULL for the end of the matter. What it
 * gives back in between (its notes on the fields of a message) is not counted back: that is less
 * than it keeps, and malloc(3)'s own share comes in for it.
 */

struct budget {
	size_t left_bytes;
};

static void *take(void *userdata, size_t len)
{
	struct budget *budget = userdata;

	if (len > budget->left_bytes)
		return NULL;
	budget->left_bytes -= len;
	return malloc(len);
}

static void give_back(void *userdata, void *p)
{
	(void) userdata;
	free(p);
}

ProtobufCMessage *unpack_message(const ProtobufCMessageDescriptor *descriptor, const void *data,
                                 size_t len, size_t budget_bytes)
{
	struct budget budget = {budget_bytes};
	ProtobufCAllocator allocator = {take, give_back, &budget};

	return protobuf_c_message_unpack(descriptor, &allocator, len, data);
}

/* One table of etcd's own sentences, one of gRPC's codes. Sentences go first: the codes are shared
 * by errors that have nothing in common, and differ between versions. */

static const struct {
	const char *part; /* of the text */
	enum verdict_kind kind;
	int r;
	bool maybe_done;
} sentences[] = {
    /* Refused by the interceptor, before anything was proposed. */
    {"etcdserver: no leader", VERDICT_AGAIN, -EHOSTUNREACH, false},
    {"not supported for learner", VERDICT_AGAIN, -EHOSTUNREACH, false},
    /* The members are not connected for 5 s yet, or too few are: refused before it is proposed. */
    {"etcdserver: unhealthy cluster", VERDICT_FINAL, -EPROTO, false},
    {"lease already exists", VERDICT_FINAL, -EEXIST, false},
    /* The put that first exceeds the quota is applied, and answered so: quotaApplierV3. */
    {"database space exceeded", VERDICT_FINAL, -ENOSPC, true},
    {"corrupt cluster", VERDICT_FINAL, -EUCLEAN, false},
    {"too many requests", VERDICT_FINAL, -EBUSY, false},
    {"has been compacted", VERDICT_FINAL, -ESTALE, false},
    {"is a future revision", VERDICT_FINAL, -EAGAIN, false},
    {"invalid auth token", VERDICT_NO_AUTH, -EACCES, false},
    {"revision of auth store is old", VERDICT_NO_AUTH, -EACCES, false},
    {"user name is empty", VERDICT_NO_AUTH, -EACCES, false},
    {"invalid user ID or password", VERDICT_FINAL, -EACCES, false},
    {"user name not found", VERDICT_FINAL, -EACCES, false},
    /* As 3.4's maintenance service says it, under the code UNKNOWN. */
    {"auth: permission denied", VERDICT_FINAL, -EACCES, false},
    /* The name in a client's certificate counts as a user's. */
    {"auth: user not found", VERDICT_FINAL, -EACCES, false},
};

static struct verdict verdict_of_code(grpc_status_code code, bool sent)
{
	switch (code) {
	case GRPC_STATUS_OK:
		return (struct verdict){.kind = VERDICT_OK};
	/* A dead connection shows as any of these, and so does a server that stops or loses its leader
	 * while it works on the request. */
	case GRPC_STATUS_UNAVAILABLE:
	case GRPC_STATUS_INTERNAL:
	case GRPC_STATUS_CANCELLED:
	case GRPC_STATUS_ABORTED:
		return (struct verdict){VERDICT_AGAIN, -EHOSTUNREACH, sent, !sent};
	case GRPC_STATUS_DEADLINE_EXCEEDED:
		return (struct verdict){VERDICT_AGAIN, -ETIMEDOUT, sent, !sent};
	case GRPC_STATUS_UNKNOWN:
		return (struct verdict){VERDICT_AGAIN, -EPROTO, sent, !sent};
	case GRPC_STATUS_NOT_FOUND:
		return (struct verdict){.kind = VERDICT_FINAL, .r = -ENOENT};
	case GRPC_STATUS_PERMISSION_DENIED:
		return (struct verdict){.kind = VERDICT_FINAL, .r = -EACCES};
	case GRPC_STATUS_UNAUTHENTICATED:
		return (struct verdict){.kind = VERDICT_NO_AUTH, .r = -EACCES};
	/* gRPC's own limit on the size of an answer: the work was done. */
	case GRPC_STATUS_RESOURCE_EXHAUSTED:
		return (struct verdict){.kind = VERDICT_FINAL, .r = -EPROTO, .maybe_done = sent};
	case GRPC_STATUS_INVALID_ARGUMENT:
	case GRPC_STATUS_ALREADY_EXISTS:
	case GRPC_STATUS_FAILED_PRECONDITION:
	case GRPC_STATUS_OUT_OF_RANGE:
	case GRPC_STATUS_UNIMPLEMENTED:
	case GRPC_STATUS_DATA_LOSS:
	case GRPC_STATUS__DO_NOT_USE:
		break;
	}
	return (struct verdict){.kind = VERDICT_FINAL, .r = -EPROTO};
}

struct verdict verdict_of(grpc_status_code code, const char *text, bool sent)
{
	for (size_t i = 0; code != GRPC_STATUS_OK && i < ARRAY_SIZE(sentences); i++) {
		if (strstr(text, sentences[i].part) != NULL)
			return (struct verdict){.kind = sentences[i].kind,
			                        .r = sentences[i].r,
			                        .maybe_done = sentences[i].maybe_done};
	}
	return verdict_of_code(code, sent);
}

#define STATUS_TEXT_MAX 256

struct rpc {
	struct queue_tag tag;
	struct channel *channel;
	grpc_call *call;
	grpc_metadata metadata[RPC_METADATA_MAX];
	size_t n_metadata;
	grpc_byte_buffer *request;
	grpc_byte_buffer *answer;
	grpc_metadata_array initial;
	grpc_metadata_array trailing;
	grpc_status_code code;
	grpc_slice details;
	int64_t sent_us;
	rpc_done_fn done; /* NULL: cancelled */
	void *userdata;
};

size_t rpc_metadata_fill(const struct rpc_metadata *metadata, grpc_metadata list[RPC_METADATA_MAX])
{
	size_t n = 0;

	memset(list, 0, RPC_METADATA_MAX * sizeof(list[0]));
	if (metadata->has_leader) {
		list[n].key = grpc_slice_from_static_string("hasleader");
		list[n++].value = grpc_slice_from_static_string("true");
	}
	if (metadata->token != NULL) {
		list[n].key = grpc_slice_from_static_string("token");
		list[n++].value = grpc_slice_from_copied_string(metadata->token);
	}
	return n;
}

void rpc_metadata_release(grpc_metadata *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		grpc_slice_unref(list[i].key);
		grpc_slice_unref(list[i].value);
	}
}

grpc_call *rpc_create_call(struct channel *channel, struct queue *queue, const char *method,
                           int64_t timeout_us)
{
	gpr_timespec deadline = gpr_inf_future(GPR_CLOCK_MONOTONIC);

	if (timeout_us > 0)
		deadline = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
		                        gpr_time_from_micros(timeout_us, GPR_TIMESPAN));
	return grpc_channel_create_call(channel_grpc(channel), NULL, GRPC_PROPAGATE_DEFAULTS,
	                                queue_cq(queue), grpc_slice_from_static_string(method), NULL,
	                                deadline, NULL);
}

bool rpc_read_buffer(grpc_byte_buffer *buffer, grpc_slice *ret_bytes)
{
	grpc_byte_buffer_reader reader;

	if (!grpc_byte_buffer_reader_init(&reader, buffer))
		return false;
	*ret_bytes = grpc_byte_buffer_reader_readall(&reader);
	grpc_byte_buffer_reader_destroy(&reader);
	return true;
}

static void cut(char *at, size_t n)
{
	memmove(at, at + n, strlen(at + n) + 1);
}

/* gRPC writes an IPv6 address as in a URL, "ipv6:%5Bfe80::1%25eth0%5D:2379"; nothing else is
 * decoded, as it may be the server's text. */
static void decode_addresses(char *text)
{
	static const struct {
		const char *code;
		char character;
	} codes[] = {{"%5B", '['}, {"%5D", ']'}, {"%25", '%'}};
	static const char begin[] = "ipv6:";

	for (char *p = strstr(text, "ipv6:%5B"); p != NULL; p = strstr(p, "ipv6:%5B")) {
		for (p += strlen(begin); *p != '\0' && *p != ' ' && p[-1] != ']'; p++) {
			for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
				if (strncmp(p, codes[i].code, 3) == 0) {
					*p = codes[i].character;
					cut(p + 1, 2);
					break;
				}
			}
		}
	}
}

/* "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.1:2379: Failed to connect
 * to remote host: Connection refused": what matters stands at the end, where a narrow screen ends
 * before.
 */
static void shorten(char *text)
{
	static const char all[] = "failed to connect to all addresses; last error: ";
	static const char remote[] = "Failed to connect to remote host: ";
	static const char *const schemes[] = {"ipv4:", "ipv6:"};
	size_t code;
	char *at;

	if (strncmp(text, all, strlen(all)) != 0)
		return;
	cut(text, strlen(all));
	code = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
	if (code > 0 && strncmp(text + code, ": ", 2) == 0)
		cut(text, code + 2);
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		if (strncmp(text, schemes[i], strlen(schemes[i])) == 0)
			cut(text, strlen(schemes[i]));
	}
	at = strstr(text, remote);
	if (at != NULL)
		cut(at, strlen(remote));
}

/* What gRPC says of connections and calls, as an operator would. Its codes are in the log, as a
 * field; a text that begins with one says no more. */
static const struct {
	const char *said, *plain;
} plain_words[] = {
    {"UNAVAILABLE: ", ""},
    {"DEADLINE_EXCEEDED: ", ""},
    {"UNKNOWN: ", ""},
    {"INTERNAL: ", ""},
    {"CANCELLED: ", ""},
    /* As gRPC for Go says it, for a member that asked another. */
    {"rpc error: code = Unavailable desc = ", ""},
    {"rpc error: code = DeadlineExceeded desc = ", ""},
    {"rpc error: code = Unknown desc = ", ""},
    {"rpc error: code = Canceled desc = ", ""},
    {"context deadline exceeded", "no answer in time"},
    {"Deadline Exceeded", "no answer in time"},
    {"Socket closed", "the connection was closed"},
    {"Stream removed", "the connection was closed"},
    {"GOAWAY received", "the member ends its connections"},
    {"Received RST_STREAM with error code ", "the member broke off the request, HTTP/2 code "},
    {"connect timed out", "no answer to a connection attempt"},
    {"Did not receive HTTP/2 settings before handshake timeout",
     "it takes connections and does not answer"},
};

static void reword(char *text, size_t size)
{
	for (size_t i = 0; i < ARRAY_SIZE(plain_words); i++) {
		char *at = strstr(text, plain_words[i].said);
		AUTO(free) char *rest = NULL;

		if (at == NULL)
			continue;
		rest = xstrdup(at + strlen(plain_words[i].said));
		(void) snprintf(at, size - (size_t) (at - text), "%s%s", plain_words[i].plain, rest);
	}
}

void rpc_copy_text(grpc_slice slice, char *buf, size_t size)
{
	size_t len = MIN(GRPC_SLICE_LENGTH(slice), size - 1);

	memcpy(buf, GRPC_SLICE_START_PTR(slice), len);
	buf[len] = '\0';
	decode_addresses(buf);
	shorten(buf);
	reword(buf, size);
}

static void rpc_free(struct rpc *rpc)
{
	rpc_metadata_release(rpc->metadata, rpc->n_metadata);
	grpc_byte_buffer_destroy(rpc->request);
	grpc_byte_buffer_destroy(rpc->answer);
	grpc_metadata_array_destroy(&rpc->initial);
	grpc_metadata_array_destroy(&rpc->trailing);
	grpc_slice_unref(rpc->details);
	grpc_call_unref(rpc->call);
	channel_unref(rpc->channel);
	free(rpc);
}

static void on_finished(struct queue_tag *tag, bool ok UNUSED)
{
	struct rpc *rpc = CONTAINER_OF(tag, struct rpc, tag);
	struct rpc_result result = {.code = rpc->code};
	char text[STATUS_TEXT_MAX];
	grpc_slice bytes = grpc_empty_slice();

	if (rpc->done == NULL) {
		rpc_free(rpc);
		return;
	}
	rpc_copy_text(rpc->details, text, sizeof(text));
	result.text = text;
	result.sent = rpc_was_sent(rpc);
	result.sent_us = rpc->sent_us;
	result.received_us = tag->finished_us;
	if (rpc->answer != NULL && rpc_read_buffer(rpc->answer, &bytes)) {
		result.answer = GRPC_SLICE_START_PTR(bytes);
		result.answer_len = GRPC_SLICE_LENGTH(bytes);
	}
	rpc->done(&result, rpc->userdata);
	grpc_slice_unref(bytes);
	rpc_free(rpc);
}

static void start_batch(struct rpc *rpc, struct queue *queue)
{
	grpc_op ops[6];

	memset(ops, 0, sizeof(ops));
	ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
	ops[0].data.send_initial_metadata.count = rpc->n_metadata;
	ops[0].data.send_initial_metadata.metadata = rpc->metadata;
	ops[1].op = GRPC_OP_SEND_MESSAGE;
	ops[1].data.send_message.send_message = rpc->request;
	ops[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
	ops[3].op = GRPC_OP_RECV_INITIAL_METADATA;
	ops[3].data.recv_initial_metadata.recv_initial_metadata = &rpc->initial;
	ops[4].op = GRPC_OP_RECV_MESSAGE;
	ops[4].data.recv_message.recv_message = &rpc->answer;
	ops[5].op = GRPC_OP_RECV_STATUS_ON_CLIENT;
	ops[5].data.recv_status_on_client.trailing_metadata = &rpc->trailing;
	ops[5].data.recv_status_on_client.status = &rpc->code;
	ops[5].data.recv_status_on_client.status_details = &rpc->details;
	/* The fences of the callers count from here: nothing may come between this and the sending. */
	rpc->sent_us = mono_now_us();
	queue_start(queue, rpc->call, ops, ARRAY_SIZE(ops), &rpc->tag);
}

struct rpc *rpc_start(struct channel *channel, struct queue *queue, const char *method,
                      const struct rpc_metadata *metadata, grpc_slice request, int64_t timeout_us,
                      rpc_done_fn done, void *userdata)
{
	struct rpc *rpc = NEW0(struct rpc);

	rpc->tag.fn = on_finished;
	rpc->done = done;
	rpc->userdata = userdata;
	rpc->channel = channel_ref(channel);
	rpc->call = rpc_create_call(channel, queue, method, timeout_us);
	rpc->n_metadata = rpc_metadata_fill(metadata, rpc->metadata);
	rpc->request = grpc_raw_byte_buffer_create(&request, 1);
	rpc->details = grpc_empty_slice();
	grpc_metadata_array_init(&rpc->initial);
	grpc_metadata_array_init(&rpc->trailing);
	start_batch(rpc, queue);
	return rpc;
}

void rpc_withdraw(struct rpc *rpc)
{
	(void) grpc_call_cancel(rpc->call, NULL);
}

void rpc_cancel(struct rpc *rpc)
{
	rpc->done = NULL;
	rpc_withdraw(rpc);
}

bool rpc_was_sent(const struct rpc *rpc)
{
	char *peer = grpc_call_get_peer(rpc->call);
	char *target = grpc_channel_get_target(channel_grpc(rpc->channel));
	/* Until a connection takes the call, its peer is the channel's target; see url.c. */
	bool sent = strcmp(peer, target) != 0 && strcmp(peer, "unknown") != 0;

	gpr_free(peer);
	gpr_free(target);
	return sent;
}
