/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * protobuf's answers, unpacked within a budget. Two bytes of an answer can ask for a struct of a
 * hundred, so a limit on what is received is none on what is made of it.
 */

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

/* So many times the limit on a received message; honest answers of that length need less. */
#define UNPACK_FACTOR 4u

/* NULL: it cannot be parsed, or takes more than the budget. Else for
 * protobuf_c_message_free_unpacked(message, NULL). */
ProtobufCMessage *unpack_message(const ProtobufCMessageDescriptor *descriptor, const void *data,
                                 size_t len, size_t budget_bytes);
