/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One nf_tables transaction (linux/netfilter/nfnetlink.h, NFNL_MSG_BATCH_BEGIN): messages that the
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

/* Begins a message; NULL when the batch is full (nft_batch_commit() then says -EMSGSIZE). After its
 * payload was written, nft_batch_close(). */
struct nlmsghdr *nft_batch_open(struct nft_batch *b, uint16_t type, uint8_t family, uint16_t flags);
void nft_batch_close(struct nft_batch *b, const struct nlmsghdr *nlh);

/* Adding what is there already is fine, and changes nothing that every kernel would change. */
void nft_batch_add_element(struct nft_batch *b, const struct nft_element *e);
/* Deleting what is not there, or has timed out, fails the whole batch with -ENOENT. */
void nft_batch_delete_element(struct nft_batch *b, const struct nft_element *e);

/* Carries it out and empties it. 0 or -errno. */
int nft_batch_commit(struct nft_batch *b, struct netlink *nl);
