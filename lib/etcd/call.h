/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One-shot calls: the deadline, the failover, the hedging and the one answer. The modules of the
 * API (kv.c, cluster.c, ...) pack a request, say what kind of call it is, and unpack the answer.
 */

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

#include "etcd/etcd.h"
#include "etcd/pool.h"

/* Any callback of the API; its module casts it back. */
typedef void (*call_user_fn)(void);

/* Unpacks for the user, and calls him. response is NULL unless outcome->r is 0. */
typedef void (*call_deliver_fn)(const struct etcd_outcome *outcome,
                                const ProtobufCMessage *response, call_user_fn fn, void *userdata);

enum call_flag {
	CALL_REPEATABLE = 1 << 0, /* does no harm if it lands twice: hedged and repeated */
	CALL_WRITE = 1 << 1,      /* without an answer, its outcome is ambiguous */
	CALL_LOCAL = 1 << 2,      /* answered by any member on its own: works without a leader and says
	                             nothing about who has one */
	CALL_NO_TOKEN = 1 << 3,   /* goes without authentication */
	/* Goes without a token rather than wait for one, which takes a quorum, and waits only when it
	 * was refused: before 3.5.28 no member asks who wants to know what this is used for. */
	CALL_TOKEN_IF_THERE = 1 << 4,
};

struct call_spec {
	const char *method;
	const ProtobufCMessage *request;
	const ProtobufCMessageDescriptor *response; /* its field 1 is the header */
	unsigned flags;                             /* enum call_flag */
	struct endpoint *endpoint;                  /* NULL: any */
	int64_t timeout_us;                         /* 0: the client's */
	call_deliver_fn deliver;
};

/* ret_call may be NULL. */
void call_start(struct etcd *etcd, const struct call_spec *spec, call_user_fn fn, void *userdata,
                struct etcd_call **ret_call);

/* The cluster that is meant was chosen, or is another: each call starts over in a moment. */
void calls_look_again(struct etcd *etcd);

/* For answers that say nothing but that it was done: fn is an etcd_done_fn. */
void call_deliver_done(const struct etcd_outcome *outcome, const ProtobufCMessage *response,
                       call_user_fn fn, void *userdata);

/* A message as bytes; the caller unrefs it. */
grpc_slice call_pack(const ProtobufCMessage *message);
