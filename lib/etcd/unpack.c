/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protobuf-c asks its allocator for everything, and takes a NULL for the end of the matter. What it
 * gives back in between (its notes on the fields of a message) is not counted back: that is less
 * than it keeps, and malloc(3)'s own share comes in for it.
 */
#include "etcd/unpack.h"

#include <stdlib.h>

struct budget {
	size_t left_bytes;
};

static void *take(void *userdata, size_t len)
{
	struct budget *budget = userdata;

	if (len > budget->left_bytes)
		return NULL;
	budget->left_bytes -= len;
	return malloc(len);
}

static void give_back(void *userdata, void *p)
{
	(void) userdata;
	free(p);
}

ProtobufCMessage *unpack_message(const ProtobufCMessageDescriptor *descriptor, const void *data,
                                 size_t len, size_t budget_bytes)
{
	struct budget budget = {budget_bytes};
	ProtobufCAllocator allocator = {take, give_back, &budget};

	return protobuf_c_message_unpack(descriptor, &allocator, len, data);
}
