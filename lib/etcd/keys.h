/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Keys as protobuf wants them, and the end of the range that a prefix means. */

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdint.h>

#include "etcd/etcd.h"

/* Borrows. */
ProtobufCBinaryData keys_bytes(struct etcd_bytes bytes);

/*
 * Fills key and range_end. An empty key with prefix means all keys. *ret_end, which ret_range_end
 * may point into, is the caller's to free.
 */
void keys_fill(struct etcd_bytes key, bool prefix, ProtobufCBinaryData *ret_key,
               ProtobufCBinaryData *ret_range_end, uint8_t **ret_end);
