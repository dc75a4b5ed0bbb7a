/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The fields of a protobuf message, one after the other, within the bytes it is given. Groups,
 * which proto3 does not have, are an error. Pure.
 */

#include <stdint.h>

#include "bolt/bytes.h"

enum proto_type {
	PROTO_VARINT = 0,
	PROTO_FIXED64 = 1,
	PROTO_BYTES = 2,
	PROTO_FIXED32 = 5,
};

struct proto_field {
	uint32_t number;
	enum proto_type type;
	uint64_t integer;   /* of a varint */
	struct bytes bytes; /* of any other; borrowed from the message */
};

/* 1 and the next field, which is taken off the front of *rest; 0 at the end; -EBADMSG. */
int proto_next(struct bytes *rest, struct proto_field *ret_field);
