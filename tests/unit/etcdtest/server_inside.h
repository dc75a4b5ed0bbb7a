/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The inside of the scripted etcd: what server.c, which carries calls, and the files that script
 * one kind of stream each know of one another.
 */

#include <grpc/slice.h>
#include <stdbool.h>
#include <stddef.h>

#include "server.h"

struct incoming_call;

/* The newest stream; NULL if it is closed. */
struct incoming_call *server_stream(const struct server *server);

bool incoming_is_authorized(const struct incoming_call *call);

/* Takes the slice. Sent when what was sent before has left. */
void incoming_send(struct incoming_call *call, grpc_slice message);
/* After all that. text is a constant. Nothing happens if call is NULL. */
void incoming_end(struct incoming_call *call, grpc_status_code code, const char *text);

/* A message of a snapshot has left. */
void server_snapshot_sent(struct server *server, bool was_last);

Pb__ResponseHeader server_header(const struct server *server);

/* A request that came on a watch. */
void server_watch_request(struct server *server, struct incoming_call *call,
                          const Pb__WatchRequest *request);
