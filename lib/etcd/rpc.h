/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One attempt of one request on one channel: a message out, a message back, a status. Serves unary
 * methods, and those with streams of which a single message each way is wanted.
 */

#include <grpc/grpc.h>
#include <grpc/status.h>
#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "etcd/channel.h"
#include "etcd/queue.h"

/*
 * protobuf's answers, unpacked within a budget. Two bytes of an answer can ask for a struct of a
 * hundred, so a limit on what is received is none on what is made of it.
 */

/* So many times the limit on a received message; honest answers of that length need less. */
#define UNPACK_FACTOR 4u

/* NULL: it cannot be parsed, or takes more than the budget. Else for
 * protobuf_c_message_free_unpacked(message, NULL). */
ProtobufCMessage *unpack_message(const ProtobufCMessageDescriptor *descriptor, const void *data,
                                 size_t len, size_t budget_bytes);

/*
 * What the end of one attempt means: a pure function of gRPC's status code, etcd's words and
 * whether the request ever left. Sources: etcd's api/v3rpc/rpctypes/error.go (3.4 to 3.6) and the
 * codes that gRPC gives dead connections.
 */

enum verdict_kind {
	VERDICT_OK,
	VERDICT_FINAL,   /* the server has spoken: another endpoint would say the same */
	VERDICT_AGAIN,   /* nothing was decided: another endpoint, or a later attempt, may do better */
	VERDICT_NO_AUTH, /* the token is not, or no longer, good */
};

struct verdict {
	enum verdict_kind kind;
	int r;           /* as in struct etcd_outcome; 0 for VERDICT_OK */
	bool maybe_done; /* a write may have been carried out */
	bool not_sent;   /* there was no connection */
};

struct verdict verdict_of(grpc_status_code code, const char *text, bool sent);

/* Metadata that goes with a request. Copied. */
struct rpc_metadata {
	bool has_leader;   /* refuse at once, or cut the stream, when the member knows no leader */
	const char *token; /* NULL: none */
};

#define RPC_METADATA_MAX 2

/* Fills list with what the caller must release by rpc_metadata_release(). Returns how many. */
size_t rpc_metadata_fill(const struct rpc_metadata *metadata, grpc_metadata list[RPC_METADATA_MAX]);
void rpc_metadata_release(grpc_metadata *list, size_t n);

/* The call for a method ("/etcdserverpb.KV/Range"). timeout_us 0: none. */
grpc_call *rpc_create_call(struct channel *channel, struct queue *queue, const char *method,
                           int64_t timeout_us);

/* All of a received buffer in one piece, which the caller unrefs; false if it is damaged. */
bool rpc_read_buffer(grpc_byte_buffer *buffer, grpc_slice *ret_bytes);

/* Text for people: NUL-terminated, cut at size; of a connection that could not be made, where to
 * and why. Words of gRPC alone become plain ones. */
void rpc_copy_text(grpc_slice slice, char *buf, size_t size);

struct rpc;

struct rpc_result {
	grpc_status_code code;
	const char *text;
	bool sent;
	const void *answer; /* NULL: no message came */
	size_t answer_len;
	int64_t sent_us;
	int64_t received_us;
};

/* What result points to is borrowed until it returns; the rpc is gone then. */
typedef void (*rpc_done_fn)(const struct rpc_result *result, void *userdata);

struct rpc *rpc_start(struct channel *channel, struct queue *queue, const char *method,
                      const struct rpc_metadata *metadata, grpc_slice request, int64_t timeout_us,
                      rpc_done_fn done, void *userdata);

/* done will not run. */
void rpc_cancel(struct rpc *rpc);

/* Cancels, but done will run, and tells whether it was sent after all. */
void rpc_withdraw(struct rpc *rpc);

/* It may have reached the server by now; one that gRPC never gave to a connection has not been
 * carried out. */
bool rpc_was_sent(const struct rpc *rpc);
