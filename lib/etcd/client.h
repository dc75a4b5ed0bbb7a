/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The inside of a client, for the modules of lib/etcd only. */

#include <ev.h>
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
