/* SPDX-License-Identifier: Apache-2.0 */
/* What the scripted etcd says in a snapshot; see server.h. */
#include "etcd/call.h"
#include "server_inside.h"

void server_send_bytes(struct server *server, const void *data, size_t len)
{
	if (server_stream(server) != NULL)
		incoming_send(server_stream(server), grpc_slice_from_copied_buffer(data, len));
}

void server_send_blob(struct server *server, const void *data, size_t len, uint64_t remaining)
{
	Pb__SnapshotResponse message;

	if (server_stream(server) == NULL)
		return;
	pb__snapshot_response__init(&message);
	message.remaining_bytes = remaining;
	message.blob.data = (uint8_t *) (uintptr_t) data;
	message.blob.len = len;
	message.version = (char *) (uintptr_t) "3.6.0";
	server_snapshot(server)->remaining = remaining;
	incoming_send(server_stream(server), call_pack(&message.base));
}

void server_snapshot_sent(struct server *server, bool was_last)
{
	struct server_snapshot *snapshot = server_snapshot(server);

	snapshot->n_sent++;
	if (snapshot->endless && was_last)
		server_send_blob(server, "", 0, snapshot->remaining);
}
