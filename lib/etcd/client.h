/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The inside of a client, for the modules of lib/etcd only. */

#include <ev.h>
#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "etcd/etcd.h"

struct auth;
struct discovery;
struct pool;
struct queue;

struct etcd {
	struct ev_loop *ev;
	struct queue *queue;
	struct pool *pool;
	struct auth *auth;           /* NULL: no user */
	struct discovery *discovery; /* NULL: not wanted */
	int64_t call_timeout_us;
	int64_t hedge_us;
	size_t answer_max_bytes;
	bool undecided; /* which cluster is meant: calls wait */
	LIST_HEAD(, etcd_call) calls;
	LIST_HEAD(, etcd_watch) watches;
	LIST_HEAD(, etcd_snapshot) snapshots;
};

/* Finds the other members by asking one, at start and then once a minute. */
struct discovery *discovery_new(struct etcd *etcd);
void discovery_free(struct discovery *discovery); /* all calls must be gone */

/* Keys as protobuf wants them, and the end of the range that a prefix means. */
/* Borrows. */
ProtobufCBinaryData keys_bytes(struct etcd_bytes bytes);

/*
 * Fills key and range_end. An empty key with prefix means all keys. *ret_end, which ret_range_end
 * may point into, is the caller's to free.
 */
void keys_fill(struct etcd_bytes key, bool prefix, ProtobufCBinaryData *ret_key,
               ProtobufCBinaryData *ret_range_end, uint8_t **ret_end);
