/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One connection to one endpoint, with the credentials of its day. Counted: whoever has a call on
 * it holds it, so a channel that was replaced lives until its last call has ended, and no longer.
 */

#include <grpc/grpc.h>
#include <stdbool.h>

#include "etcd/pem.h"
#include "etcd/url.h"

struct channel;

enum channel_state {
	CHANNEL_READY,
	CHANNEL_CONNECTING, /* or idle: a call waits for the connection */
	CHANNEL_FAILED,     /* a call fails at once, until the next attempt to connect */
};

/* Begins to connect. pem is NULL for http and unix. A longer message than receive_max_bytes ends
 * its call. */
struct channel *channel_new(const struct url *url, const struct pem *pem, size_t receive_max_bytes);
struct channel *channel_ref(struct channel *channel);
void channel_unref(struct channel *channel); /* NULL is fine */

grpc_channel *channel_grpc(const struct channel *channel);

/* Also begins to connect, if it is idle. */
enum channel_state channel_state(const struct channel *channel);
