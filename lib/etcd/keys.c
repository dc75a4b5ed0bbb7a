/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of etcd's ranges (rpc.proto, RangeRequest.range_end). Pure. */
#include "etcd/keys.h"

#include "base/mem.h"

ProtobufCBinaryData keys_bytes(struct etcd_bytes bytes)
{
	return (ProtobufCBinaryData){.len = bytes.len, .data = (uint8_t *) (uintptr_t) bytes.data};
}

/* The first key behind all that begin with `key`: the last byte that can be raised is, and what
 * follows it is cut off. 0: there is none, the range is open. */
static size_t successor_of_prefix(uint8_t *key, size_t len)
{
	for (; len > 0; len--) {
		if (key[len - 1] == 0xff)
			continue;
		key[len - 1]++;
		return len;
	}
	return 0;
}

void keys_fill(struct etcd_bytes key, bool prefix, ProtobufCBinaryData *ret_key,
               ProtobufCBinaryData *ret_range_end, uint8_t **ret_end)
{
	/* As a key, NUL is the least there is; as an end, it means "no end". */
	static const uint8_t nul[1];

	*ret_key = keys_bytes(key);
	*ret_range_end = (ProtobufCBinaryData){0};
	*ret_end = NULL;
	if (!prefix)
		return;
	if (key.len == 0)
		*ret_key = keys_bytes((struct etcd_bytes){nul, sizeof(nul)});
	*ret_end = xmemdup(key.data, key.len);
	ret_range_end->data = *ret_end;
	ret_range_end->len = successor_of_prefix(*ret_end, key.len);
	if (ret_range_end->len == 0)
		*ret_range_end = keys_bytes((struct etcd_bytes){nul, sizeof(nul)});
}
