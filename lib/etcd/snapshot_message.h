/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One SnapshotResponse, read in place: its blob points into the message, while protobuf-c would
 * copy the whole database once, 32 KiB at a time. Pure. Source: etcd's rpc.proto (fields) and
 * protobuf's encoding guide (the wire).
 */

#include <stddef.h>
#include <stdint.h>

struct snapshot_message {
	uint64_t remaining_bytes;
	const void *blob; /* into the message */
	size_t blob_len;
	const char *version; /* the same, not terminated; before 3.6 it is empty */
	size_t version_len;
};

/* 0, or -EPROTO: not a protobuf message with these fields. Unknown fields are skipped. */
int snapshot_message_parse(const void *data, size_t len, struct snapshot_message *ret_message);
