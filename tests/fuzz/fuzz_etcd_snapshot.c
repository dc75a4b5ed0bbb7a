/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for the messages of a snapshot: whatever they are, they are refused or
 * they parse, and what protobuf-c can parse as well says the same to both.
 */
#include "etcd/snapshot_message.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "etcd/proto/etcd.pb-c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(free) uint8_t *bytes = xmemdup(data, size);
	struct snapshot_message m;
	Pb__SnapshotResponse *response;

	if (snapshot_message_parse(bytes, size, &m) < 0)
		return 0;
	response = pb__snapshot_response__unpack(NULL, size, bytes);
	if (response == NULL)
		return 0;
	if (m.remaining_bytes != response->remaining_bytes || m.blob_len != response->blob.len ||
	    (m.blob_len > 0 && memcmp(m.blob, response->blob.data, m.blob_len) != 0) ||
	    strncmp(m.version, response->version, m.version_len) != 0)
		abort();
	pb__snapshot_response__free_unpacked(response, NULL);
	return 0;
}
