/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the gate's tables contain, how they are written, and whether the kernel still has them so.
 * Private to lib/net; nftgate.h says what the rules are for.
 */

#include <stddef.h>
#include <stdint.h>

#include "net/nft.h"

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

enum nftgate_found {
	NFTGATE_ABSENT, /* neither table is there */
	NFTGATE_SOUND,  /* both, with these chains, sets and rules and no others in our chains */
	NFTGATE_BROKEN, /* anything else */
};

/* Are the tables in the kernel as these functions write them? 0 or -errno. */
int nftgate_inspect(struct netlink *nl, const char *table, enum nftgate_found *ret_found);
