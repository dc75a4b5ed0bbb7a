/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads elements of nf_tables sets. Private to lib/net.
 */

#include <stdint.h>

#include "net/nft_batch.h"

struct netlink;

/* key points to e->key_len bytes, borrowed; timeout_ms is 0 when it has none, left_ms what remains.
 */
typedef void (*nft_element_fn)(const void *key, uint64_t timeout_ms, uint64_t left_ms,
                               void *userdata);

/* Every element of the set that e names (its key is not looked at, but for its length: others are
 * passed over). 0 or -errno (-ENOENT: no such set). */
int nft_read_set(struct netlink *nl, const struct nft_element *e, nft_element_fn fn,
                 void *userdata);

/* The element e itself. 0, or -ENOENT when it is not there or has timed out, or -errno. */
int nft_read_element(struct netlink *nl, const struct nft_element *e, uint64_t *ret_left_ms);
