/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * nf_tables through libnftnl and libmnl, on a socket of netlink.h: transactions, and the elements
 * of sets. Private to lib/net.
 *
 * A transaction is one batch (linux/netfilter/nfnetlink.h, NFNL_MSG_BATCH_BEGIN): messages that the
 * kernel carries out all or none, seen by packets at one instant. Private to lib/net.
 *
 * The last message asks for an acknowledgement; what fails before it is reported in any case.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct netlink;
struct nlmsghdr;

#define NFT_BATCH_MAX_BYTES 65536
/* What must be free before a message is begun: more than the largest that is ever added here. */
#define NFT_BATCH_MESSAGE_MAX_BYTES 2048

struct nft_batch {
	uint8_t *buf;
	size_t len;
	size_t last; /* where the last message begins; 0 before the first */
	bool full;
};

/* An element of a set. */
struct nft_element {
	uint8_t family; /* NFPROTO_* of the table */
	const char *table;
	const char *set;
	const void *key;
	uint32_t key_len;
	uint64_t timeout_ms; /* 0: none */
};

void nft_batch_init(struct nft_batch *b);
void nft_batch_fini(struct nft_batch *b);

/* Begins a message; after its payload was written, nft_batch_close(). One that does not fit is
 * dropped, and nft_batch_commit() says -EMSGSIZE. */
struct nlmsghdr *nft_batch_open(struct nft_batch *b, uint16_t type, uint8_t family, uint16_t flags);
void nft_batch_close(struct nft_batch *b, const struct nlmsghdr *nlh);

/* Adding what is there already is fine, and changes nothing that every kernel would change. */
void nft_batch_add_element(struct nft_batch *b, const struct nft_element *e);
/* Deleting what is not there, or has timed out, fails the whole batch with -ENOENT. */
void nft_batch_delete_element(struct nft_batch *b, const struct nft_element *e);

/* Carries it out and empties it. 0 or -errno. */
int nft_batch_commit(struct nft_batch *b, struct netlink *nl);

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
