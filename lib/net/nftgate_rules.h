/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the gate's tables contain and how they are written. Private to lib/net; nftgate.h says what
 * the rules are for, and nftgate_inspect.h compares those in the kernel with these.
 */

#include <stddef.h>
#include <stdint.h>

#include "net/nft_batch.h"

struct nftnl_rule;

#define NFTGATE_SET_GUARDED4 "guarded4"
#define NFTGATE_SET_GUARDED6 "guarded6"
#define NFTGATE_SET_LIVE4 "live4"
#define NFTGATE_SET_LIVE6 "live6"
/* Elements of the tickets of nftgate_open_until(); in the table of family inet. */
#define NFTGATE_SET_TICKETS "tickets"
#define NFTGATE_TICKET_BYTES 4
/* Index numbers of the links by which packets for guarded addresses come. */
#define NFTGATE_SET_LINKS "links"
#define NFTGATE_LINK_BYTES 4

/* NFT_TABLE_F_OWNER and NFT_TABLE_F_PERSIST (kernel 6.9; the headers may be older): no other socket
 * may change or flush the table, and it stays when its socket is closed. Then it is as other tables
 * are until a socket asks for these flags again, by nftgate_rules_own(), which changes nothing
 * else. A table that was made without them never gets them: -EOPNOTSUPP, as where the kernel lacks
 * them. */
#define NFTGATE_OWNED (0x2u | 0x4u)

/* Both tables anew, with empty sets; whatever stands there under this name goes, in the same batch.
 * flags: NFTGATE_OWNED or 0. */
void nftgate_rules_create(struct nft_batch *b, const char *table, uint32_t flags);
/* Both tables as they are, with these flags. */
void nftgate_rules_own(struct nft_batch *b, const char *table, uint32_t flags);
/* Both tables away, whether they are there or not. */
void nftgate_rules_remove(struct nft_batch *b, const char *table);

#define NFTGATE_FAMILIES 2
#define NFTGATE_CHAINS 6
#define NFTGATE_SETS 8

struct nftgate_chain {
	uint8_t family;
	const char *name;
	uint32_t hook;
	int32_t priority;
};

struct nftgate_set {
	uint8_t family;
	const char *name;
	uint32_t key_type, key_len;
	uint32_t flags;
};

extern const uint8_t nftgate_families[NFTGATE_FAMILIES];
extern const struct nftgate_chain nftgate_chains[NFTGATE_CHAINS];
extern const struct nftgate_set nftgate_sets[NFTGATE_SETS];

/* The n-th rule of the chain, to be freed with nftnl_rule_free(); NULL when it has not so many. */
struct nftnl_rule *nftgate_rules_nth(const struct nftgate_chain *chain, unsigned n,
                                     const char *table);
